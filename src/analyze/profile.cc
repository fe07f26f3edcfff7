#include "hodo/analyze/profile.h"

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
    const bool not_taken = (edge.flags & kNotTaken) != 0;
    if (is_branch(edge.kind) && !not_taken) totals.branches += edge.count;
    if (edge.from == 0) continue;
    const session::Home home = homes_.of(context.space, edge.from, edge.to, run.time);
    edges.add({{home, edge.count, edge.kind, not_taken}, edge.count * run.insns});
  }
  return true;
}

std::vector<Edge> Profile::edges() const { return sorted(edges_); }

}  // namespace hodo::analyze
