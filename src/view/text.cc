#include "hodo/view/text.h"

#include <fmt/format.h>

#include <array>

namespace hodo::view {
namespace {

// The length of the well-formed UTF-8 sequence at the start of `s` (Unicode table 3-7), with its
// code point; length 0 if it is malformed.
struct CodePoint {
  std::size_t length = 0;
  char32_t value = 0;
};

CodePoint decode_utf8(std::string_view s) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  unsigned char first = byte(0);
  if (first < 0x80) return {1, first};
  std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || s.size() < length) return {};
  char32_t value = first & (0x7f >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3f);
  }
  constexpr std::array<char32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kSmallest[length] || value > 0x10ffff || surrogate) return {};
  return {length, value};
}

// Control characters, and the format characters that turn text around, hide it or break its line.
bool deceives(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
         (c >= 0xe0000 && c <= 0xe007f);
}

// What `keeps` says no to, and malformed UTF-8, becomes escapes.
template <class Keeps>
void append_escaped(std::string& out, std::string_view raw, Keeps keeps) {
  while (!raw.empty()) {
    CodePoint point = decode_utf8(raw);
    bool keep = point.length != 0 && keeps(point.value);
    std::size_t length = point.length == 0 ? 1 : point.length;
    if (keep) {
      out.append(raw.substr(0, length));
    } else {
      for (char c : raw.substr(0, length)) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
      }
    }
    raw.remove_prefix(length);
  }
}

}  // namespace

void append_printable(std::string& out, std::string_view raw) {
  append_escaped(out, raw, [](char32_t c) { return !deceives(c); });
}

std::string utf8(std::string_view raw) {
  std::string out;
  append_escaped(out, raw, [](char32_t) { return true; });
  return out;
}

std::string printable(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  append_printable(out, raw);
  return out;
}

std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string hex(std::uint64_t value) { return fmt::format("{:#x}", value); }

std::string times(std::uint64_t count) { return count == 1 ? "once" : grouped(count) + " times"; }

std::string byte_size(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string duration(std::uint64_t nanoseconds) {
  double value = static_cast<double>(nanoseconds);
  if (nanoseconds < 1'000) return fmt::format("{} ns", nanoseconds);
  if (nanoseconds < 1'000'000) return fmt::format("{:.1f} us", value / 1e3);
  if (nanoseconds < 1'000'000'000) return fmt::format("{:.2f} ms", value / 1e6);
  std::uint64_t whole = nanoseconds / 1'000'000'000;
  if (whole < 60) return fmt::format("{:.3f} s", value / 1e9);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string seconds(std::uint64_t nanoseconds) {
  return fmt::format("{}.{:09}", nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000);
}

std::size_t width(std::string_view text) {
  std::size_t columns = 0;
  for (char c : text) columns += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return columns;
}

std::string fit(std::string_view text, std::size_t columns) {
  if (width(text) <= columns) return std::string(text);
  std::size_t keep = columns > 2 ? columns - 2 : 0;
  std::size_t at = 0;
  std::size_t seen = 0;
  for (; at < text.size(); ++at) {
    bool starts = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (starts && seen++ == keep) break;
  }
  return std::string(text.substr(0, at)) + std::string(columns - keep, '.');
}

std::string fit_end(std::string_view text, std::size_t columns) {
  const std::size_t all = width(text);
  if (all <= columns) return std::string(text);
  const std::size_t keep = columns > 2 ? columns - 2 : 0;
  std::size_t at = 0;
  std::size_t seen = 0;
  for (; at < text.size(); ++at) {
    bool starts = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (starts && seen++ == all - keep) break;
  }
  return std::string(columns - keep, '.') + std::string(text.substr(at));
}

}  // namespace hodo::view
