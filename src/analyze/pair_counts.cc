#include "pair_counts.h"

#include <algorithm>
#include <tuple>

namespace hodo::analyze {

std::vector<PairCount> sorted(const PairCounts& counts) {
  std::vector<PairCount> out = counts.rows();
  std::ranges::sort(out, {}, [](const PairCount& p) {
    return std::tuple(p.space, p.era, p.first, p.second, p.kind, p.not_taken);
  });
  return out;
}

}  // namespace hodo::analyze
