#include "coverage_counts.h"

namespace hodo::analyze {
namespace {

bool is_branch(const Branch& branch) { return branch.kind < BranchKind::begin; }

// The instruction at `from` was not executed: something came before it, or nobody knows.
bool breaks_off(const Branch& branch) {
  return branch.kind == BranchKind::lost || branch.kind == BranchKind::end ||
         (branch.flags & kAsync) != 0;
}

}  // namespace

CoverageCounts::CoverageCounts(std::size_t most) : state_(std::make_unique<State>(most)) {}
CoverageCounts::~CoverageCounts() = default;

bool CoverageCounts::branches(const session::Context& context, std::span<const Branch> batch) {
  State& s = *state_;
  if (context.queue != s.queue) s.at = 0;
  s.queue = context.queue;
  for (const Branch& branch : batch) {
    bool cut = breaks_off(branch);
    bool ran = s.at != 0 && (cut ? branch.from > s.at : branch.from >= s.at);
    if (ran) {
      s.runs.add({.first = s.at,
                  .second = branch.from,
                  .time = branch.time,
                  .space = context.space,
                  .not_taken = cut});
    }
    if (is_branch(branch) && branch.from != 0 && branch.to != 0) {
      s.edges.add({.first = branch.from,
                   .second = branch.to,
                   .time = branch.time,
                   .space = context.space,
                   .kind = branch.kind,
                   .not_taken = (branch.flags & kNotTaken) != 0});
    }
    bool ends = (branch.flags & kTraceEnd) != 0 || branch.kind == BranchKind::end;
    s.at = ends ? 0 : branch.to;
  }
  return true;
}

}  // namespace hodo::analyze
