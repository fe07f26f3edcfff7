#include "spaces.h"

#include <algorithm>

#include "hodo/base/page.h"
#include "hodo/guest/build_id.h"

namespace hodo::plugin {
namespace {

constexpr std::size_t kMostSpaces = 4096;

const Space::Reported* mapping_at(const Space& space, std::uint64_t address) {
  const auto after = std::ranges::upper_bound(
      space.mappings, address, {}, [](const Space::Reported& m) { return m.mapping.start; });
  if (after == space.mappings.begin()) return nullptr;
  const auto& before = *std::prev(after);
  return before.mapping.contains(address) ? &before : nullptr;
}

relay::GuestTask numbers(const RunningTask& running) {
  return {.pid = running.task.tgid, .tid = running.task.pid};
}

}  // namespace

Space& Spaces::space_of(Vcpu& vcpu) {
  const RunningTask& running = vcpu.running;
  if (introspection_.kernel() != kernel_) {  // it became known, or the guest was started again
    kernel_ = introspection_.kernel();
    spaces_.clear();
  }
  // Those that have ended are among them. One that has not begins again, as after an exec.
  if (spaces_.size() >= kMostSpaces) spaces_.clear();
  // A kernel thread borrows whatever address space was there.
  const bool kernel_thread = introspection_.kernel() != nullptr && running.task.mm == 0;
  const std::uint64_t key = kernel_thread ? 0 : introspection_.key(running.cr3);
  const auto parent = spaces_.find(running.task.parent);
  const bool of_watched = watch.children && parent != spaces_.end() && parent->second.watched;
  Space& space = spaces_[running.task.tgid];
  const bool leader = running.task.pid == running.task.tgid;
  const bool born = space.id == 0 || (space.ended && leader);
  const bool inherited = born ? of_watched : space.inherited;
  const bool wanted = inherited || watch.wants(running.task.tgid, running.task.comm, key);
  // In the midst of an exec the address space is new before the name is.
  const bool renamed = wanted && !space.watched && leader;
  // A task that ends has given its memory back before it is gone, and may still be switched.
  const bool leaves = space.mm != 0 && running.task.mm == 0;
  const bool same_space = leaves || (space.key == key && space.mm == running.task.mm);
  if (!born && same_space && !renamed) return space;
  const bool announced = !born && space.announced;
  space = Space();
  space.pid = running.task.tgid;
  space.inherited = inherited;
  space.announced = announced;
  space.key = key;
  space.mm = running.task.mm;
  space.watched = wanted;
  begin(space, vcpu, born);
  return space;
}

bool Spaces::wants(const guest::Task& task) const {
  return watch.wants(task.tgid, task.comm, introspection_.key(task.cr3));
}

void Spaces::enter(Vcpu& vcpu) {
  const std::lock_guard lock(mutex_);
  Space& space = space_of(vcpu);
  vcpu.space = space.watched ? space.id : 0;
  if (!space.watched) return;
  const relay::GuestTask now = numbers(vcpu.running);
  const bool renamed = now.pid == now.tid && space.comm != vcpu.running.task.comm;
  if (renamed) tell_name(space, vcpu, relay::now(), 0);
  if (now.pid == vcpu.announced.pid && now.tid == vcpu.announced.tid) return;
  vcpu.announced = now;
  vcpu.send(relay::RecordType::guest_switch, bytes_of(now), bytes_of(vcpu.running.task.comm));
}

void Spaces::exec(const guest::Task& task) {
  const std::lock_guard lock(mutex_);
  if (const auto found = spaces_.find(task.tgid); found != spaces_.end()) found->second.mm = 0;
}

void Spaces::exit(Vcpu& vcpu, const guest::Task& task) {
  const std::lock_guard lock(mutex_);
  const auto found = spaces_.find(task.tgid);
  if (found == spaces_.end()) return;
  if (task.pid == task.tgid) found->second.ended = true;
  if (!found->second.announced) return;
  const relay::GuestTask numbers{.pid = task.tgid, .tid = task.pid};
  vcpu.send(relay::RecordType::guest_exit, bytes_of(numbers), {});
}

void Spaces::begin(Space& space, Vcpu& vcpu, bool born) {
  space.id = ++next_id_;
  space.since = relay::now();
  if (!space.watched) return;
  if (!space.announced && vcpu.running.task.parent != 0) {
    const std::int32_t parent = vcpu.running.task.parent;
    const relay::GuestFork fork{.task = {.pid = space.pid, .tid = space.pid},
                                .parent = {.pid = parent, .tid = parent}};
    vcpu.send(relay::RecordType::guest_fork, bytes_of(fork), {}, space.since);
  }
  space.announced = true;
  tell_name(space, vcpu, space.since, born ? 0 : relay::kExec);
  report_mappings(space, vcpu);
}

void Spaces::tell_name(Space& space, Vcpu& vcpu, std::uint64_t time, std::uint16_t flags) {
  space.comm = vcpu.running.task.comm;
  const relay::GuestTask task{.pid = space.pid, .tid = space.pid};
  vcpu.send(relay::RecordType::guest_task, bytes_of(task), bytes_of(space.comm), time, flags);
}

void Spaces::report_mappings(Space& space, Vcpu& vcpu) {
  const std::uint64_t time = space.mappings.empty() ? space.since + 1 : relay::now();
  const guest::VirtualMemory memory(machine_, machine_.paging(vcpu.cpu()));
  const auto all = introspection_.mappings(vcpu.running);
  std::vector<Space::Reported> now;
  for (const auto& mapping : all) {
    if (!mapping.executable) continue;
    const Space::Reported* old = mapping_at(space, mapping.start);
    if (old != nullptr && old->mapping == mapping) {
      now.push_back(*old);
      continue;
    }
    relay::GuestMap record;
    record.task = {.pid = space.pid, .tid = space.pid};
    record.where = {.start = mapping.start,
                    .length = mapping.end - mapping.start,
                    .offset = mapping.offset,
                    .inode = mapping.inode,
                    .major = mapping.major,
                    .minor = mapping.minor};
    if (!mapping.path.empty()) {
      const auto build_id = guest::read_build_id(memory, all, mapping);
      std::string text = mapping.path + '\0';
      text.append(build_id.begin(), build_id.end());
      vcpu.send(relay::RecordType::guest_map, bytes_of(record), bytes_of(text), time);
    }
    space.code.forget(mapping.start, mapping.end - mapping.start);
    space.id = ++next_id_;
    space.blocks.clear();
    now.push_back({mapping, time});
  }
  space.mappings = std::move(now);
}

void Spaces::forget_blocks() {
  const std::lock_guard lock(mutex_);
  for (auto& [pid, space] : spaces_) space.blocks.clear();
}

std::uint32_t Spaces::report_code(Vcpu& vcpu, const CodeBlock& code) {
  const std::lock_guard lock(mutex_);
  Space& space = space_of(vcpu);
  if (space.blocks.contains(&code)) return vcpu.space = space.id;
  const std::uint64_t address = code.block.start;
  const std::size_t size = code.bytes.size();
  if (mapping_at(space, address) == nullptr) report_mappings(space, vcpu);
  const Space::Reported* mapping = mapping_at(space, address);
  // Whole pages of files, which do not change; of other memory only what is executed, since a
  // program that makes code writes it next to what it made before.
  if (mapping != nullptr && !mapping->mapping.path.empty()) {
    for (std::uint64_t page = address & ~(kPage - 1); page < address + size; page += kPage) {
      report_page(space, vcpu, page);
    }
  }
  report_bytes(space, vcpu, address, code.bytes);
  space.blocks.insert(&code);
  return vcpu.space = space.id;
}

void Spaces::report_page(Space& space, Vcpu& vcpu, std::uint64_t address) {
  std::vector<std::uint8_t> bytes(kPage);
  if (!guest::VirtualMemory(machine_, machine_.paging(vcpu.cpu())).read(address, bytes)) return;
  report_bytes(space, vcpu, address, bytes);
}

void Spaces::report_bytes(Space& space, Vcpu& vcpu, std::uint64_t address,
                          std::span<const std::uint8_t> bytes) {
  const auto news = space.code.learn(address, bytes);
  if (news == KnownCode::News::none) return;
  // Nothing else was known here, so that the bytes may count from the mapping's beginning: a
  // decoder need not be told when exactly they came.
  const Space::Reported* mapping = mapping_at(space, address);
  const std::uint64_t since = (mapping != nullptr ? mapping->time : space.since) + 1;
  const bool changed = news == KnownCode::News::changed;
  const relay::GuestCode record{.task = {.pid = space.pid, .tid = space.pid}, .address = address};
  vcpu.send(relay::RecordType::guest_code, bytes_of(record), bytes, changed ? relay::now() : since);
  if (!changed) return;
  vcpu.unit().code_changed();
  // What was there before may come back, by a mapping that changes to and fro.
  space.id = ++next_id_;
  space.blocks.clear();
}

}  // namespace hodo::plugin
