// The word that somebody probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hodo::cli {

// The first word of `words` that starts with `word` (two characters or more), else the nearest by
// edit_distance() if no more than a third of `word` differs, else the first that begins with the
// same letter and has the others in the same order (three or more), else an empty string.
std::string nearest_word(std::string_view word, const std::vector<std::string>& words);

}  // namespace hodo::cli
