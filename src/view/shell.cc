#include "hodo/view/shell.h"

namespace hodo::view {

std::string shell_quoted(std::string_view word) {
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%^";
  const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos;
  return plain ? std::string(word) : shell_quoted(word);
}

}  // namespace hodo::view
