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

std::uint32_t& PairCounts::slot(const PairCount& pair) {
  std::size_t mask = table_.size() - 1;
  for (std::size_t i = hash(pair) & mask;; i = (i + 1) & mask) {
    const std::uint32_t number = table_[i];
    if (number == 0 || same(pairs_[number - 1], pair)) return table_[i];
  }
}

void PairCounts::add(const PairCount& pair) {
  std::uint32_t& number = slot(pair);
  if (number != 0) {
    PairCount& found = pairs_[number - 1];
    found.count += pair.count;
    found.time = std::min(found.time, pair.time);
    return;
  }
  if (pairs_.size() == limit_) {
    dropped_ += pair.count;
    return;
  }
  pairs_.push_back(pair);
  number = static_cast<std::uint32_t>(pairs_.size());
  if (2 * pairs_.size() > table_.size()) grow();
}

void PairCounts::grow() {
  table_.assign(2 * table_.size(), 0);
  std::uint32_t number = 0;
  for (const PairCount& pair : pairs_) slot(pair) = ++number;
}

std::vector<PairCount> PairCounts::sorted() const {
  std::vector<PairCount> out(pairs_.begin(), pairs_.end());
  std::ranges::sort(out, {}, [](const PairCount& p) {
    return std::tuple(p.space, p.era, p.first, p.second, p.kind, p.not_taken);
  });
  return out;
}

}  // namespace hodo::analyze
