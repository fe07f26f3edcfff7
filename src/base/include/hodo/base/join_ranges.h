// Ranges without overlaps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hodo {

// Puts ranges [begin, end) in order; those that overlap or touch become one.
template <class Range>
void join_ranges(std::vector<Range>& ranges) {
  std::ranges::sort(ranges, {}, &Range::begin);
  std::size_t kept = 0;
  for (const Range& range : ranges) {
    if (kept > 0 && range.begin <= ranges[kept - 1].end) {
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
}

}  // namespace hodo
