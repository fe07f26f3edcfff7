#include "hodo/view/tasks.h"

#include <algorithm>
#include <ranges>

namespace hodo::view {
namespace {

using perfdata::Process;
using perfdata::Thread;

class Tree {
 public:
  Tree(const perfdata::Model& recording, const Profile& profile)
      : recording_(recording), profile_(profile), children_(recording.processes().size()) {
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
    const auto& processes = recording_.processes();
    parents_.assign(processes.size(), perfdata::kNone);
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
    const auto& processes = recording_.processes();
    shown_.assign(processes.size(), false);
    bool any = false;
    for (std::uint32_t i = 0; i < processes.size(); ++i) {
      if (totals(processes[i]).instructions == 0) continue;
      any = true;
      for (std::uint32_t p = i; p != perfdata::kNone && !shown_[p]; p = parents_[p])
        shown_[p] = true;
    }
    bool everything = !any || recording_.on_cpu().empty();
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
      std::int32_t tid = recording_.threads()[t].tid;
      if (std::ranges::find(seen, tid) != seen.end()) continue;
      seen.push_back(tid);
      TaskTotals one = of_thread(process.pid, tid);
      sum.instructions += one.instructions;
      sum.branches += one.branches;
    }
    return sum;
  }

  std::uint64_t wall(std::uint64_t start, std::uint64_t end) const {
    if (start == 0) start = recording_.first_time();
    if (end == perfdata::kForever) end = recording_.last_time();
    return end > start ? end - start : 0;
  }

  void append(std::vector<TaskLine>& out, std::uint32_t index, std::size_t depth) const {
    const Process& process = recording_.processes()[index];
    out.push_back({.pid = process.pid,
                   .tid = process.pid,
                   .depth = depth,
                   .comm = std::string(process.comm),
                   .wall_ns = wall(process.start, process.end),
                   .totals = totals(process)});
    if (process.threads.size() < 2) return;
    for (std::uint32_t t : process.threads) {
      const Thread& thread = recording_.threads()[t];
      out.push_back({.pid = thread.pid,
                     .tid = thread.tid,
                     .depth = depth + 1,
                     .thread = true,
                     .comm = std::string(thread.comm()),
                     .wall_ns = wall(thread.start, thread.end),
                     .totals = of_thread(thread.pid, thread.tid)});
    }
  }

  const perfdata::Model& recording_;
  const Profile& profile_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::vector<std::uint32_t> parents_;
  std::vector<std::uint32_t> roots_;
  std::vector<bool> shown_;
};

}  // namespace

std::vector<TaskLine> task_tree(const perfdata::Model& recording, const Profile& profile) {
  return Tree(recording, profile).lines();
}

}  // namespace hodo::view
