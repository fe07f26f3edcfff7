// Bytes that are no text, as people and programs can write them.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

namespace hodo {

// "caf\xe9.c", as outputs show a name that is not UTF-8, to the bytes of that name. Only of bytes
// from \x80 on: a name of ASCII means itself, whatever backslashes are in it.
inline std::string written_bytes(std::string_view text) {
  constexpr std::string_view kMark = "\\x";
  constexpr unsigned kAscii = 0x80;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view digits = text.substr(at).substr(0, 4);
    unsigned byte = 0;
    if (digits.size() == 4 && digits.starts_with(kMark)) {
      const char* const end = digits.data() + digits.size();
      const auto read = std::from_chars(digits.data() + kMark.size(), end, byte, 16);
      if (read.ptr != end) byte = 0;
    }
    out += byte >= kAscii ? static_cast<char>(byte) : text[at];
    at += byte >= kAscii ? digits.size() : 1;
  }
  return out;
}

}  // namespace hodo
