#include "hodo/analyze/tasks.h"

#include <algorithm>
#include <ranges>

namespace hodo::analyze {
namespace {

using session::Process;
using session::Thread;

class Tree {
 public:
  Tree(const session::Facts& facts, const Profile& profile)
      : facts_(facts), profile_(profile), children_(facts.processes.size()) {
    link();
    choose();
  }

  std::vector<TaskLine> lines() {
    std::vector<TaskLine> out;
    // Depth first with a stack of our own: the tree's depth is the trace's to choose.
    std::vector<std::pair<std::uint32_t, std::size_t>> stack;
    for (const auto root : roots_ | std::views::reverse) stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto [index, depth] = stack.back();
      stack.pop_back();
      if (shown_[index]) append(out, index, depth);
      for (const auto child : children_[index] | std::views::reverse) {
        stack.emplace_back(child, depth + 1);
      }
    }
    return out;
  }

 private:
  // A process's parent comes before it in processes(), which are sorted by start; that also keeps
  // contradictory files from making a circle.
  void link() {
    const auto& processes = facts_.processes;
    parents_.assign(processes.size(), session::kNoProcess);
    std::map<std::int32_t, std::uint32_t> latest;
    for (std::uint32_t i = 0; i < processes.size(); ++i) {
      auto parent = latest.find(processes[i].ppid);
      if (parent == latest.end()) {
        roots_.push_back(i);
      } else {
        parents_[i] = parent->second;
        children_[parent->second].push_back(i);
      }
      latest[processes[i].pid] = i;
    }
  }

  void choose() {
    const auto& processes = facts_.processes;
    shown_.assign(processes.size(), false);
    bool any = false;
    for (std::uint32_t i = 0; i < processes.size(); ++i) {
      if (totals(processes[i]).instructions == 0) continue;
      any = true;
      for (std::uint32_t p = i; p != session::kNoProcess && !shown_[p]; p = parents_[p])
        shown_[p] = true;
    }
    bool everything = !any || !facts_.switches;
    if (everything) shown_.assign(processes.size(), true);
  }

  TaskTotals of_thread(std::int32_t pid, std::int32_t tid) const {
    auto it = profile_.tasks().find({pid, tid});
    return it == profile_.tasks().end() ? TaskTotals{} : it->second;
  }

  TaskTotals totals(const Process& process) const {
    TaskTotals sum;
    std::vector<std::int32_t> seen;
    for (std::uint32_t t : process.threads) {
      std::int32_t tid = facts_.threads[t].tid;
      if (std::ranges::find(seen, tid) != seen.end()) continue;
      seen.push_back(tid);
      TaskTotals one = of_thread(process.pid, tid);
      sum.instructions += one.instructions;
      sum.branches += one.branches;
    }
    return sum;
  }

  std::uint64_t wall(std::uint64_t start, std::uint64_t end) const {
    if (start == 0) start = facts_.first_time;
    if (end == session::kForever) end = facts_.last_time;
    return end > start ? end - start : 0;
  }

  void append(std::vector<TaskLine>& out, std::uint32_t index, std::size_t depth) const {
    const Process& process = facts_.processes[index];
    out.push_back({.pid = process.pid,
                   .tid = process.pid,
                   .depth = depth,
                   .comm = process.comm,
                   .wall_ns = wall(process.start, process.end),
                   .totals = totals(process)});
    if (process.threads.size() < 2) return;
    for (std::uint32_t t : process.threads) {
      const Thread& thread = facts_.threads[t];
      out.push_back({.pid = thread.pid,
                     .tid = thread.tid,
                     .depth = depth + 1,
                     .thread = true,
                     .comm = thread.comm,
                     .wall_ns = wall(thread.start, thread.end),
                     .totals = of_thread(thread.pid, thread.tid)});
    }
  }

  const session::Facts& facts_;
  const Profile& profile_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::vector<std::uint32_t> parents_;
  std::vector<std::uint32_t> roots_;
  std::vector<bool> shown_;
};

}  // namespace

std::vector<TaskLine> task_tree(const session::Facts& facts, const Profile& profile) {
  return Tree(facts, profile).lines();
}

}  // namespace hodo::analyze
