// The frame of a page for a browser, and text that is harmless in it.
//
// A page needs no script and no other file, and its own policy forbids both: whatever a name in it
// looks like, it stays text.
#pragma once

#include <string>
#include <string_view>

namespace hodo::view {

// Up to the beginning of the body; `style` is CSS, beside that of all pages: colours by name
// (--ink, --dim, --page, --card, --line, --mark, --good), text, tables, .dim, .lead, .scroll,
// td.number.
std::string page_begin(std::string_view title, std::string_view style);
inline constexpr std::string_view kPageEnd = "</body>\n</html>\n";

// Text of the program: no markup, and nothing that turns a line around. As printable(), any bytes.
std::string escaped(std::string_view raw);
// The same of text whose line ends are meant.
std::string escaped_lines(std::string_view raw);

}  // namespace hodo::view
