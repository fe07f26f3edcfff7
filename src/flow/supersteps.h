// Several steps at once: where a row of outcomes leads, found by one look-up.
//
// Only worth it while nearly every look-up finds something and the table stays in the second cache:
// a larger table with fewer misses is slower than none. So it gives up by itself, and tries again
// later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "link.h"

namespace hodo::flow {

struct alignas(16) Superstep {
  Link from = kNoLink;
  Link to = kNoLink;
  std::uint32_t count = 0;  // times it was taken; where nothing is counted, the sum of its words
  std::uint8_t outcomes = 0;
  std::uint8_t used = 0;   // of them, from the highest bit on
  std::uint8_t taken = 0;  // of those used, where nothing is counted
};
static_assert(sizeof(Superstep) == 16);

class Supersteps {
 public:
  static constexpr unsigned kOutcomes = 8;

  // Whether to look at all; to be asked for each row of outcomes.
  bool worth_a_look() {
    if (pause_ == 0) return true;
    if (--pause_ == 0 && table_.empty()) table_.resize(kSize);
    return false;
  }
  // Where it is, if it is anywhere.
  Superstep& at(Link from, std::uint8_t outcomes) {
    ++looks_;
    const std::uint64_t key = std::uint64_t{from} << 8 | outcomes;
    return table_[static_cast<std::size_t>(key * 0x9e3779b97f4a7c15u >> kShift)];
  }
  // It was not there. True: it should be, from now on.
  bool missed() {
    if (++misses_ == patience_) judge();
    return misses_ % kReplaceOneIn == 0 || patience_ == kLearning;
  }

  // Calls visit(superstep) for each with a count; after it there are no counts.
  template <class Visit>
  void settle(Visit visit) {
    for (Superstep& step : table_) {
      if (step.count == 0) continue;
      visit(step);
      step.count = 0;
    }
  }
  void clear() { *this = {}; }

 private:
  static constexpr unsigned kSizeLog2 = 14;  // 256 KiB
  static constexpr std::size_t kSize = std::size_t{1} << kSizeLog2;
  static constexpr unsigned kShift = 64 - kSizeLog2;
  static constexpr std::uint32_t kReplaceOneIn = 4;
  static constexpr std::uint32_t kLearning = 2 * kSize;  // misses until it is judged
  static constexpr std::uint32_t kPatience = 1 << 12;
  static constexpr std::uint64_t kWorth = 16;  // look-ups for each miss, at least
  static constexpr std::uint32_t kFirstPause = 1 << 13;
  static constexpr std::uint32_t kLeastPause = 1 << 18;
  static constexpr std::uint32_t kMostPause = 1 << 24;

  void judge() {
    if (looks_ < kWorth * misses_) {
      pause_ = next_pause_;
      if (next_pause_ < kMostPause) next_pause_ *= 2;
    } else {
      next_pause_ = kLeastPause;
    }
    looks_ = misses_ = 0;
    patience_ = kPatience;
  }

  std::vector<Superstep> table_;
  std::uint64_t looks_ = 0;
  std::uint32_t misses_ = 0;
  std::uint32_t patience_ = kLearning;
  std::uint32_t pause_ = kFirstPause;  // short traces do without
  std::uint32_t next_pause_ = kLeastPause;
};

}  // namespace hodo::flow
