// How often each of many pairs of addresses was seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

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

// Open addressing: one probe for most. A program has few pairs, but a trace that somebody made up
// may have any number: behind the limit new ones are only counted as dropped.
class PairCounts {
 public:
  // `limit` is less than 2^32.
  explicit PairCounts(std::size_t limit);

  // Adds its count, at least 1.
  void add(const PairCount& pair);

  // In order of space, era, first, second.
  std::vector<PairCount> sorted() const;
  std::uint64_t dropped() const { return dropped_; }

 private:
  // The place of a pair's number.
  std::uint32_t& slot(const PairCount& pair);
  void grow();

  std::size_t limit_;
  std::uint64_t dropped_ = 0;
  std::deque<PairCount> pairs_;       // by number, from 1 on; they stay where they are
  std::vector<std::uint32_t> table_;  // of numbers, size a power of two; 0: free
};

}  // namespace hodo::analyze
