#include "coverage_counts.h"

namespace hodo::analyze {
namespace {

bool is_branch(const flow::EdgeCount& edge) { return edge.kind < BranchKind::begin; }

// The instruction at `from` was not executed: something came before it, or nobody knows.
bool breaks_off(const flow::EdgeCount& edge) {
  return edge.kind == BranchKind::lost || edge.kind == BranchKind::end ||
         (edge.flags & kAsync) != 0;
}

}  // namespace

CoverageCounts::CoverageCounts(const session::Names& names, std::size_t most)
    : state_(std::make_unique<State>(names, most)) {}
CoverageCounts::~CoverageCounts() = default;

bool CoverageCounts::runs(const session::Context& context, std::span<const flow::RunCount> batch) {
  PairCounts::Batch runs(state_->runs);
  PairCounts::Batch edges(state_->edges);
  for (const flow::RunCount& run : batch) {
    const flow::EdgeCount& edge = run.edge;
    const auto [begin, time] = std::pair(run.begin, run.time);
    const bool cut = breaks_off(edge);
    const bool ran = begin != 0 && (cut ? edge.from > begin : edge.from >= begin);
    if (ran) {
      const session::Home home = state_->homes.of(context.space, begin, edge.from, time);
      runs.add({home, edge.count, BranchKind::lost, cut});
    }
    if (is_branch(edge) && edge.from != 0 && edge.to != 0) {
      const session::Home home = state_->homes.of(context.space, edge.from, edge.to, time);
      edges.add({home, edge.count, edge.kind, (edge.flags & kNotTaken) != 0});
    }
  }
  return true;
}

}  // namespace hodo::analyze
