// What CoverageCounts has counted.
#pragma once

#include "hodo/analyze/coverage.h"
#include "pair_counts.h"

namespace hodo::analyze {

struct CoverageCounts::State {
  explicit State(std::size_t most) : runs(most), edges(most) {}

  // Code that was executed without a branch in between: `first` to the instruction at `second`.
  // not_taken: that instruction itself was not executed (an interrupt came before it).
  PairCounts runs;
  PairCounts edges;  // from `first` to `second`
};

}  // namespace hodo::analyze
