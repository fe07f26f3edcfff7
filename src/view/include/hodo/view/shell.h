// Words as an sh-like shell takes them.
#pragma once

#include <string>
#include <string_view>

namespace hodo::view {

// In single quotes, whatever is in it.
std::string shell_quoted(std::string_view word);
// As one would type it: quoted only where it has to be.
std::string shell_word(std::string_view word);

}  // namespace hodo::view
