// How often each of many pairs of addresses was seen.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hodo/analyze/count_table.h"
#include "hodo/flow/branch.h"

namespace hodo::analyze {

struct PairCount {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t count = 0;
  std::uint64_t time = 0;  // trace clock; this, the addresses and what follows: session::Home
  std::uint32_t space = 0;
  std::uint32_t era = 0;
  BranchKind kind = BranchKind::lost;
  bool not_taken = false;
};

// For CountTable.
inline std::size_t hash(const PairCount& pair) {
  return hash_of_counted(pair.first, pair.second, pair.space, pair.era);
}
inline bool same(const PairCount& a, const PairCount& b) {
  return a.first == b.first && a.second == b.second && a.space == b.space && a.era == b.era &&
         a.kind == b.kind && a.not_taken == b.not_taken;
}
inline void add_up(PairCount& into, const PairCount& pair) {
  into.count += pair.count;
  into.time = std::min(into.time, pair.time);
}

using PairCounts = CountTable<PairCount>;

// In order of space, era, first, second.
std::vector<PairCount> sorted(const PairCounts& counts);

}  // namespace hodo::analyze
