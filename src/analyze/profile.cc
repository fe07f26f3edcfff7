#include "hodo/analyze/profile.h"

#include <algorithm>
#include <tuple>

namespace hodo::analyze {
namespace {

bool is_branch(BranchKind kind) { return kind < BranchKind::begin; }

}  // namespace

Profile::Profile(const session::Names& names, std::size_t max_edges)
    : homes_(names), edges_(max_edges) {}

bool Profile::runs(const session::Context& context, std::span<const flow::RunCount> batch) {
  TaskTotals& totals = tasks_[{context.pid, context.tid}];
  CountTable<Edge>::Batch edges(edges_);
  for (const flow::RunCount& run : batch) {
    const flow::EdgeCount& edge = run.edge;
    totals.instructions += edge.count * run.insns;
    const bool taken = is_branch(edge.kind) && (edge.flags & kNotTaken) == 0;
    if (taken) totals.branches += edge.count;
    if (edge.from != 0) edges.add(edge_of(context.space, run));
  }
  return true;
}

Edge Profile::edge_of(std::uint32_t space, const flow::RunCount& run) {
  const session::Home home = homes_.of(space, run.edge.from, run.edge.to, run.time);
  return {.from = home.from,
          .to = home.to,
          .count = run.edge.count,
          .insns = run.edge.count * run.insns,
          .time = home.time,
          .space = home.space,
          .era = home.era,
          .kind = run.edge.kind,
          .not_taken = (run.edge.flags & kNotTaken) != 0};
}

std::vector<Edge> Profile::edges() const {
  std::vector<Edge> out = edges_.rows();
  std::ranges::sort(out, {}, [](const Edge& e) {
    return std::tuple(e.space, e.era, e.from, e.to, e.kind, e.not_taken);
  });
  return out;
}

}  // namespace hodo::analyze
