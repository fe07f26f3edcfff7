// Text without the blanks around it.
#pragma once

#include <cstddef>
#include <string_view>

namespace hodo {

// Blanks are spaces, tabs and carriage returns. A view into `text`.
constexpr std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace hodo
