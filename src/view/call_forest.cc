#include "call_forest.h"

#include <algorithm>
#include <numeric>

#include "hodo/view/task_name.h"

namespace hodo::view {

using analyze::CallNode;
using analyze::CallTree;

CallForest::CallForest(const CallTree& tree, const CallsOptions& options)
    : tree_(tree),
      options_(options),
      totals_(tree.inclusive()),
      depths_(totals_.size()),
      first_child_(totals_.size(), CallNode::kNone),
      next_(totals_.size(), CallNode::kNone) {
  std::span<const CallNode> nodes = tree.nodes();
  std::vector<std::uint32_t> roots(nodes.size());
  std::vector<std::uint32_t> shown;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    std::uint32_t parent = nodes[i].parent;
    roots[i] = parent == CallNode::kNone ? i : roots[parent];
    if (parent == CallNode::kNone) continue;
    depths_[i] = depths_[parent] + 1;
    auto whole = static_cast<double>(weight(totals_[roots[i]]));
    bool large = 100.0 * static_cast<double>(weight(totals_[i])) >= options.min_percent * whole;
    if (large && depths_[i] <= options.depth) {
      shown.push_back(i);
    } else {
      ++left_out_;
    }
  }
  // Each child is put before those that are there: the costliest comes last.
  std::ranges::stable_sort(shown, {}, [&](std::uint32_t i) { return weight(totals_[i]); });
  for (std::uint32_t i : shown) {
    next_[i] = std::exchange(first_child_[nodes[i].parent], i);
  }
}

std::uint64_t CallForest::weight(const CallTree::Totals& totals) const {
  return options_.by == CallWeight::time ? totals.time : totals.instructions;
}

std::uint64_t CallForest::self_weight(std::uint32_t node) const {
  const CallNode& n = tree_.nodes()[node];
  return weight({n.instructions, n.time});
}

std::vector<CallForest::Line> CallForest::lines(const analyze::CallThread& thread) const {
  std::vector<Line> out;
  std::span<const CallNode> nodes = tree_.nodes();
  std::uint32_t at = first_child_[thread.root];
  while (at != CallNode::kNone) {
    out.push_back({at, depths_[at]});
    if (first_child_[at] != CallNode::kNone) {
      at = first_child_[at];
      continue;
    }
    while (at != thread.root && next_[at] == CallNode::kNone) at = nodes[at].parent;
    at = at == thread.root ? CallNode::kNone : next_[at];
  }
  return out;
}

std::string thread_name(const session::Session& session, const analyze::CallThread& thread) {
  return task_name(session, thread.pid, thread.tid);
}

}  // namespace hodo::view
