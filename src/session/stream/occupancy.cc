#include "occupancy.h"

#include <algorithm>
#include <map>

#include "facts/ticks.h"

namespace hodo::session {
namespace {

std::uint32_t space_of(const perfdata::Model& recording, std::int32_t pid, std::uint64_t time) {
  const perfdata::Process* process = recording.process_at(pid, time);
  if (process == nullptr) return kNoSpace;
  return static_cast<std::uint32_t>(process - recording.processes().data());
}

// A thread's pid is the same for life, but the number may have had several lives.
Occupancy of_thread(std::int32_t pid, std::int32_t tid, const perfdata::Model& recording) {
  if (pid < 0) {
    const perfdata::Thread* thread = recording.thread_at(tid, 0);
    if (thread != nullptr) pid = thread->pid;
  }
  std::vector<Occupant> turns{{.pid = pid, .tid = tid, .space = space_of(recording, pid, 0)}};
  const auto& processes = recording.processes();
  for (std::uint32_t i = 0; i < processes.size(); ++i) {
    if (processes[i].pid != pid || i == turns.back().space) continue;
    turns.push_back({ticks(recording.pt().time, processes[i].start), pid, tid, i});
  }
  std::ranges::stable_sort(turns, {}, &Occupant::from);
  return Occupancy(turns);
}

// The lives of each pid, in order of time.
std::map<std::int32_t, std::vector<std::uint32_t>> lives_of(const perfdata::Model& recording) {
  std::map<std::int32_t, std::vector<std::uint32_t>> out;
  const auto& processes = recording.processes();
  for (std::uint32_t i = 0; i < processes.size(); ++i) out[processes[i].pid].push_back(i);
  return out;
}

// The turns between two context switches: one, unless the number is used again meanwhile. That may
// go without a switch where only some processes are recorded, and when a virtual machine restarts.
void add_turns(const perfdata::OnCpu& on, std::uint64_t until,
               const std::vector<std::uint32_t>& lives, const perfdata::Model& recording,
               std::vector<Occupant>& turns) {
  const auto& time = recording.pt().time;
  const std::uint32_t space = on.pid > 0 ? space_of(recording, on.pid, on.from) : kNoSpace;
  turns.push_back({ticks(time, on.from), on.pid, on.tid, space});
  const auto start = [&](std::uint32_t life) { return recording.processes()[life].start; };
  for (auto next = std::ranges::upper_bound(lives, on.from, {}, start);
       next != lives.end() && start(*next) < until; ++next) {
    turns.push_back({ticks(time, start(*next)), on.pid, on.tid, *next});
  }
}

Occupancy of_cpu(std::int32_t cpu, const perfdata::Model& recording) {
  auto timeline = recording.on_cpu().find(cpu);
  std::vector<Occupant> turns;
  if (timeline != recording.on_cpu().end()) {
    auto lives = lives_of(recording);
    const auto& all = timeline->second;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint64_t until = i + 1 < all.size() ? all[i + 1].from : perfdata::kForever;
      add_turns(all[i], until, lives[all[i].pid], recording, turns);
    }
  }
  // One traced process and no word about switches: nobody else can have left a trace in user space.
  if (turns.empty() && recording.processes().size() == 1) {
    turns.push_back({.pid = recording.processes()[0].pid, .space = 0});
  }
  return Occupancy(turns);
}

}  // namespace

Occupancy::Occupancy(const std::vector<Occupant>& turns) {
  turns_.push_back({});
  for (const Occupant& turn : turns) {
    if (turn.from <= turns_.back().from) {
      std::uint64_t from = turns_.back().from;
      turns_.back() = turn;
      turns_.back().from = from;
    } else if (!turn.same_task(turns_.back())) {
      turns_.push_back(turn);
    }
  }
}

std::size_t Occupancy::at(std::uint64_t time) const {
  auto after = std::ranges::upper_bound(turns_, time, {}, &Occupant::from);
  return static_cast<std::size_t>(after - turns_.begin()) - 1;
}

Occupancy occupancy_of(const perfdata::AuxQueue& queue, const perfdata::Model& recording) {
  // perf names the first traced thread with each cpu's buffer, whoever runs there: the context
  // switches know better.
  bool of_a_cpu = queue.cpu >= 0 && (queue.tid < 0 || recording.on_cpu().contains(queue.cpu));
  if (of_a_cpu) return of_cpu(queue.cpu, recording);
  return of_thread(queue.pid, queue.tid, recording);
}

}  // namespace hodo::session
