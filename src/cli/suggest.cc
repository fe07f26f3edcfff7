#include "suggest.h"

#include <algorithm>

namespace hodo::cli {

unsigned edit_distance(std::string_view a, std::string_view b) {
  // Row i holds the distances of a's first i characters to every prefix of b.
  std::vector<std::vector<unsigned>> rows(a.size() + 1, std::vector<unsigned>(b.size() + 1));
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<unsigned>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    rows[i][0] = static_cast<unsigned>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      unsigned replaced = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      rows[i][j] = std::min({replaced, rows[i - 1][j] + 1, rows[i][j - 1] + 1});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

// `word` is `whole` with letters left out, as in brnch: too many for a typo.
bool abbreviates(std::string_view word, std::string_view whole) {
  std::size_t found = 0;
  for (const char c : whole) {
    if (found < word.size() && word[found] == c) ++found;
  }
  return word.size() >= 3 && found == word.size() && word.front() == whole.front();
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& words) {
  constexpr std::size_t kLongest = 32;  // no command is longer; keeps the table small
  if (word.size() > kLongest) return "";
  std::string best;
  std::string abbreviated;
  unsigned best_distance = static_cast<unsigned>(word.size() / 3) + 1;
  for (const std::string& candidate : words) {
    if (word.size() >= 2 && candidate.starts_with(word)) return candidate;
    if (abbreviated.empty() && abbreviates(word, candidate)) abbreviated = candidate;
    unsigned distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best.empty() ? abbreviated : best;
}

}  // namespace hodo::cli
