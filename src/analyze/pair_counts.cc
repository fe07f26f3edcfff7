#include "pair_counts.h"

#include <algorithm>
#include <tuple>

namespace hodo::analyze {
namespace {

constexpr std::size_t kFirstSize = 1 << 12;

std::size_t hash(const PairCount& p) {
  std::uint64_t h = p.first * 0x9e3779b97f4a7c15;
  h = (h ^ (h >> 32) ^ p.second) * 0xc2b2ae3d27d4eb4f;
  h = (h ^ (h >> 29) ^ p.space ^ std::uint64_t{p.era} << 32) * 0x165667b19e3779f9;
  return static_cast<std::size_t>(h ^ (h >> 32));
}

bool same(const PairCount& a, const PairCount& b) {
  return a.first == b.first && a.second == b.second && a.space == b.space && a.era == b.era &&
         a.kind == b.kind && a.not_taken == b.not_taken;
}

}  // namespace

PairCounts::PairCounts(std::size_t limit) : limit_(limit), table_(kFirstSize) {}

PairCount& PairCounts::slot(const PairCount& pair) {
  std::size_t mask = table_.size() - 1;
  for (std::size_t i = hash(pair) & mask;; i = (i + 1) & mask) {
    PairCount& found = table_[i];
    if (found.count == 0 || same(found, pair)) return found;
  }
}

void PairCounts::add(const PairCount& pair) {
  PairCount& found = slot(pair);
  if (found.count == 0) {
    if (used_ == limit_) {
      dropped_ += pair.count;
      return;
    }
    found = pair;
    found.count = 0;
    ++used_;
  }
  found.count += pair.count;
  found.time = std::min(found.time, pair.time);
  if (2 * used_ > table_.size()) grow();
}

void PairCounts::grow() {
  std::vector<PairCount> old(2 * table_.size());
  old.swap(table_);
  for (const PairCount& pair : old) {
    if (pair.count != 0) slot(pair) = pair;
  }
}

std::vector<PairCount> PairCounts::sorted() const {
  std::vector<PairCount> out;
  out.reserve(used_);
  std::ranges::copy_if(table_, std::back_inserter(out),
                       [](const PairCount& pair) { return pair.count != 0; });
  std::ranges::sort(out, {}, [](const PairCount& p) {
    return std::tuple(p.space, p.era, p.first, p.second, p.kind, p.not_taken);
  });
  return out;
}

}  // namespace hodo::analyze
