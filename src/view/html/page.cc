#include <fmt/format.h>

#include "hodo/view/html.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

// What all pages look like.
constexpr std::string_view kStyle =
    R"(:root { color-scheme: light dark; --ink: #1c2024; --dim: #667079; --page: #f6f7f9; --card: #fff;
  --line: #dde1e6; --mark: #fdecea; --good: #1e7b3c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e6ea; --dim: #98a2ac; --page: #14171a;
  --card: #1d2125; --line: #343a41; --mark: #45211f; --good: #7bd69a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 76rem; color: var(--ink);
  background: var(--page); font: 15px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.5rem; }
h2 { margin: 2rem 0 .75rem; font-size: 1.1rem; }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 13px; }
.dim { color: var(--dim); }
.lead { margin: .25rem 0 0; }
details summary { cursor: pointer; color: var(--dim); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; }
th { text-align: left; font-weight: 600; color: var(--dim); }
th, td { padding: .15rem 1rem .15rem 0; vertical-align: top; }
td.number { text-align: right; }
)";

}  // namespace

std::string page_begin(std::string_view title, std::string_view style) {
  return fmt::format(R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{}</title>
<style>
{}{}</style>
</head>
<body>
)",
                     escaped(title), kStyle, style);
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
