#include "hodo/analyze/pair_counts.h"

#include <tuple>

namespace hodo::analyze {

bool in_order(const PairCount& a, const PairCount& b) {
  const auto key = [](const PairCount& p) {
    return std::tuple(p.space, p.era, p.from, p.to, p.kind, p.not_taken);
  };
  return key(a) < key(b);
}

}  // namespace hodo::analyze
