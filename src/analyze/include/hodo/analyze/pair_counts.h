// How often each of many pairs of addresses was seen.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hodo/analyze/count_table.h"
#include "hodo/flow/branch.h"
#include "hodo/session/homes.h"

namespace hodo::analyze {

struct PairCount : session::Home {
  std::uint64_t count = 0;
  BranchKind kind = BranchKind::lost;
  bool not_taken = false;
};

// For CountTable.
inline std::size_t hash(const PairCount& pair) {
  std::uint64_t h = pair.from * 0x9e3779b97f4a7c15;
  h = (h ^ (h >> 32) ^ pair.to) * 0xc2b2ae3d27d4eb4f;
  h = (h ^ (h >> 29) ^ pair.space ^ std::uint64_t{pair.era} << 32) * 0x165667b19e3779f9;
  return static_cast<std::size_t>(h ^ (h >> 32));
}
inline bool same(const PairCount& a, const PairCount& b) {
  return a.from == b.from && a.to == b.to && a.space == b.space && a.era == b.era &&
         a.kind == b.kind && a.not_taken == b.not_taken;
}
inline void add_up(PairCount& into, const PairCount& pair) {
  into.count += pair.count;
  into.time = std::min(into.time, pair.time);
}

using PairCounts = CountTable<PairCount>;

// By space, era, from, to.
bool in_order(const PairCount& a, const PairCount& b);

// In that order. `Pair` is a PairCount, perhaps with more.
template <class Pair>
std::vector<Pair> sorted(const CountTable<Pair>& counts) {
  std::vector<Pair> out = counts.rows();
  std::ranges::sort(out, in_order);
  return out;
}

}  // namespace hodo::analyze
