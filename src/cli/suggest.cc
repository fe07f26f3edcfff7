#include "suggest.h"

#include "hodo/base/edit_distance.h"

namespace hodo::cli {
namespace {

// `word` is `whole` with letters left out, as in brnch: too many for a typo.
bool abbreviates(std::string_view word, std::string_view whole) {
  std::size_t found = 0;
  for (const char c : whole) {
    if (found < word.size() && word[found] == c) ++found;
  }
  return word.size() >= 3 && found == word.size() && word.front() == whole.front();
}

}  // namespace

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
