// How far two words are from each other, for who asks what somebody probably meant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace hodo {

// The least number of characters to insert, leave out or replace, and of neighbours to swap, that
// makes `b` of `a`. Takes time by the product of their lengths: limit these first.
inline unsigned edit_distance(std::string_view a, std::string_view b) {
  // The distances of a's first i characters to every prefix of b, and those of two i before.
  std::vector<unsigned> row(b.size() + 1), above(b.size() + 1), two_above(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(two_above, above);
    std::swap(above, row);
    row[0] = static_cast<unsigned>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const unsigned replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace hodo
