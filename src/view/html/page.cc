#include <fmt/format.h>

#include "hodo/view/html.h"
#include "hodo/view/text.h"

namespace hodo::view {

std::string page_begin(std::string_view title, std::string_view style) {
  return fmt::format(R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{}</title>
<style>
{}</style>
</head>
<body>
)",
                     escaped(title), style);
}

std::string escaped(std::string_view raw) {
  std::string out;
  for (const char c : printable(raw)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escaped_lines(std::string_view raw) {
  std::string out;
  while (!raw.empty()) {
    const std::size_t end = raw.find('\n');
    out += escaped(raw.substr(0, end)) + "\n";
    raw.remove_prefix(end == std::string_view::npos ? raw.size() : end + 1);
  }
  return out;
}

}  // namespace hodo::view
