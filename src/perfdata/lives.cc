#include "lives.h"

#include <algorithm>
#include <utility>

namespace hodo::perfdata {
namespace {

constexpr std::size_t kNobody = ~std::size_t{0};

std::uint64_t last_of(const Mapping& m) { return m.address + (m.size - 1); }

// The part of `m` that begins at `first` (inside m) and has `size` bytes, from `time` on.
Mapping part(const Mapping& m, std::uint64_t first, std::uint64_t size, std::uint64_t time) {
  const std::uint64_t skipped = first - m.address;
  Mapping out = m;
  out.address = first;
  out.size = size;
  out.file_offset += skipped;
  if (out.kept != kNone) out.kept_offset += skipped;
  out.from = time;
  out.until = kForever;
  return out;
}

}  // namespace

Lives::Lives(const std::vector<KeptCode>& kept, DamageLog& damages)
    : kept_(kept), damages_(damages) {
  for (std::uint32_t i = 0; i < kept_.size(); ++i) {
    if (kept_[i].file_offset != 0) kept_by_offset_.emplace(kept_[i].file_offset, i);
  }
}

Lives::State& Lives::process(std::int32_t pid) {
  if (pid == -1) return kernel_;
  const auto [it, added] = current_process_.try_emplace(pid, states_.size());
  if (added) {
    states_.emplace_back();
    states_.back().process.pid = pid;
  }
  return states_[it->second];
}

std::uint32_t Lives::add_thread(State& owner, std::int32_t tid, std::uint64_t start) {
  const auto index = static_cast<std::uint32_t>(threads_.size());
  Thread& added = threads_.emplace_back();
  added.pid = owner.process.pid;
  added.tid = tid;
  added.start = start;
  owner.process.threads.push_back(index);
  ++owner.living_threads;
  current_thread_[tid] = index;
  if (&owner != &kernel_) owner_[tid] = static_cast<std::size_t>(&owner - states_.data());
  return index;
}

std::uint32_t Lives::thread(std::int32_t pid, std::int32_t tid) {
  const auto it = current_thread_.find(tid);
  if (it != current_thread_.end() && threads_[it->second].pid == pid) return it->second;
  return add_thread(process(pid), tid, 0);
}

void Lives::end_thread(std::uint32_t index, std::uint64_t time) {
  Thread& thread = threads_[index];
  if (thread.end != kForever) return;
  thread.end = time;
  const auto owner = owner_.find(thread.tid);
  if (owner == owner_.end()) return;
  State& state = states_[owner->second];
  if (state.living_threads != 0 && --state.living_threads == 0) state.process.end = time;
}

void Lives::comm(std::uint64_t time, std::int32_t pid, std::int32_t tid, std::string name,
                 bool exec) {
  auto& names = threads_[thread(pid, tid)].names;
  names.push_back({time, std::move(name), exec});
  if (exec) end_all(process(pid), time);
}

void Lives::fork(std::uint64_t time, const Task& task, bool copies) {
  const auto parent_thread = current_thread_.find(task.ptid);
  std::string name;
  if (parent_thread != current_thread_.end()) name = threads_[parent_thread->second].comm();

  if (const auto old = current_thread_.find(task.tid); old != current_thread_.end()) {
    end_thread(old->second, time);  // the number is in use again: its EXIT was lost
  }
  if (task.pid != task.ppid) {
    const auto found = current_process_.find(task.ppid);
    const auto parent = found == current_process_.end() ? kNobody : found->second;
    const auto index = states_.size();
    State& child = states_.emplace_back();
    child.process.pid = task.pid;
    child.process.ppid = task.ppid;
    child.process.start = time;
    if (const auto old = current_process_.find(task.pid); old != current_process_.end()) {
      auto& before = states_[old->second].process;
      before.end = std::min(before.end, time);
    }
    current_process_[task.pid] = index;
    if (copies && parent != kNobody) {
      const State& from = states_[parent];
      for (const auto& [start, at] : from.live) {
        const Mapping& mapping = from.process.mappings[at];
        add(child, part(mapping, mapping.address, mapping.size, time));
      }
    }
  }
  const auto added = add_thread(process(task.pid), task.tid, time);
  if (!name.empty()) threads_[added].names.push_back({time, std::move(name), false});
}

void Lives::exit(std::uint64_t time, const Task& task) {
  end_thread(thread(task.pid, task.tid), time);
}

void Lives::end_all(State& state, std::uint64_t time) {
  for (const auto& [start, at] : state.live) state.process.mappings[at].until = time;
  state.live.clear();
}

void Lives::add(State& state, const Mapping& mapping) {
  if (mappings_ >= kMaxMappings) {
    if (!std::exchange(full_, true)) {
      damages_.add(0, "more than " + std::to_string(kMaxMappings) +
                          " mappings: the later ones are left out");
    }
    return;
  }
  ++mappings_;
  state.live[mapping.address] = static_cast<std::uint32_t>(state.process.mappings.size());
  state.process.mappings.push_back(mapping);
}

void Lives::evict(State& state, std::uint64_t first, std::uint64_t last, std::uint64_t time) {
  // Live mappings do not overlap: only the one before `first` can reach into the range.
  auto it = state.live.upper_bound(first);
  if (it != state.live.begin()) --it;
  while (it != state.live.end() && it->first <= last) {
    const auto index = it->second;
    const Mapping old = state.process.mappings[index];
    const std::uint64_t old_last = last_of(old);
    if (old_last < first) {
      ++it;
      continue;
    }
    it = state.live.erase(it);
    state.process.mappings[index].until = time;
    if (old.address < first) add(state, part(old, old.address, first - old.address, time));
    if (old_last > last) {
      add(state, part(old, last + 1, old_last - last, time));
      break;  // the part behind `last` is not in the range
    }
  }
}

bool Lives::shows_kept_code(std::int32_t pid, const Mapping& mapping) const {
  auto it = kept_by_offset_.upper_bound(mapping.file_offset);
  if (it == kept_by_offset_.begin()) return false;
  const KeptCode& code = kept_[std::prev(it)->second];
  const std::uint64_t skipped = mapping.file_offset - code.file_offset;
  return code.pid == pid && skipped < code.bytes.size() &&
         mapping.size <= code.bytes.size() - skipped && mapping.address - code.address == skipped;
}

void Lives::map(std::int32_t pid, Mapping mapping) {
  if (mapping.size == 0) return;
  const std::uint64_t room = ~mapping.address;  // bytes behind the first one
  mapping.size = std::min(mapping.size - 1, room);
  mapping.size += mapping.size != kForever;  // [0, 2^64) loses its last byte
  // The record shows other tools where in the file kept code lies; keep() did it already.
  if (shows_kept_code(pid, mapping)) return;
  State& state = process(pid);
  evict(state, mapping.address, last_of(mapping), mapping.from);
  add(state, mapping);
}

void Lives::keep(std::uint32_t index) {
  const KeptCode& code = kept_[index];
  Mapping mapping;
  mapping.address = code.address;
  mapping.size = std::min<std::uint64_t>(code.bytes.size(), ~code.address);
  mapping.file_offset = code.file_offset;
  mapping.from = code.time;
  mapping.kept = index;
  mapping.prot = 5;  // PROT_READ | PROT_EXEC
  if (mapping.size == 0) return;
  State& state = process(code.pid);
  // What was changed in a file's mapping, or copied because the file is out of reach, keeps its
  // place in the file: that is where its names are.
  if (const Mapping* below = file_below(state, mapping)) {
    mapping.file = below->file;
    mapping.shared = below->shared;
    mapping.file_offset = below->file_offset + (mapping.address - below->address);
  }
  evict(state, mapping.address, last_of(mapping), mapping.from);
  add(state, mapping);
}

const Mapping* Lives::file_below(const State& state, const Mapping& mapping) {
  auto at = state.live.upper_bound(mapping.address);
  if (at == state.live.begin()) return nullptr;
  --at;
  const Mapping& first = state.process.mappings[at->second];
  if (first.file == kNone) return nullptr;
  for (const Mapping* part = &first; last_of(*part) < last_of(mapping);) {
    const std::uint64_t next = last_of(*part) + 1;
    if (++at == state.live.end() || at->first != next) return nullptr;
    part = &state.process.mappings[at->second];
    const bool goes_on =
        part->file == first.file && part->file_offset - first.file_offset == next - first.address;
    if (!goes_on) return nullptr;
  }
  return &first;
}

void Lives::finish(std::vector<Process>& processes, std::vector<Thread>& threads,
                   std::vector<Mapping>& kernel) {
  const auto never = [](const Mapping& m) { return m.from >= m.until; };
  threads = std::move(threads_);
  processes.reserve(states_.size());
  for (auto& state : states_) {
    std::erase_if(state.process.mappings, never);
    auto& list = state.process.threads;
    const auto leader = std::find_if(list.begin(), list.end(), [&](std::uint32_t i) {
      return threads[i].tid == state.process.pid;
    });
    if (leader != list.end()) {
      std::rotate(list.begin(), leader, leader + 1);
      state.process.comm = threads[list.front()].comm();
    }
    processes.push_back(std::move(state.process));
  }
  std::erase_if(kernel_.process.mappings, never);
  kernel = std::move(kernel_.process.mappings);
}

}  // namespace hodo::perfdata
