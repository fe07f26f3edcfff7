// What CoverageCounts has counted.
#pragma once

#include "hodo/analyze/coverage.h"
#include "hodo/analyze/pair_counts.h"
#include "hodo/session/homes.h"

namespace hodo::analyze {

struct CoverageCounts::State {
  State(const session::Names& names, std::size_t most) : homes(names), runs(most), edges(most) {}

  session::Homes homes;

  // Code that was executed without a branch in between: `from` to the instruction at `to`.
  // not_taken: that instruction itself was not executed (an interrupt came before it).
  PairCounts runs;
  PairCounts edges;
};

}  // namespace hodo::analyze
