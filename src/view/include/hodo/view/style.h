// Whether and how a command colours its output.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hodo::view {

enum class ColorMode : unsigned char { automatic, always, never };

enum class Tone : unsigned char { plain, title, dim, good, bad, name, number };

// What the place that output goes to can show. Plain unless told otherwise.
struct Style {
  bool color = false;
  std::size_t columns = 100;  // width to lay out tables for

  // `text` in a tone: itself where there is no colour.
  std::string paint(Tone tone, std::string_view text) const;
};

// The style for the file descriptor `fd`: automatic colours a terminal whose TERM is not "dumb",
// unless NO_COLOR is set (https://no-color.org). The width is the terminal's, or COLUMNS, or 100.
Style style_for(int fd, ColorMode mode);

}  // namespace hodo::view
