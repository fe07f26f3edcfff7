#include "hodo/view/style.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace hodo::view {
namespace {

std::string_view escape(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::title:
      return "\033[1m";
    case Tone::dim:
      return "\033[2m";
    case Tone::good:
      return "\033[32m";
    case Tone::bad:
      return "\033[1;31m";
    case Tone::name:
      return "\033[36m";
    case Tone::number:
      return "\033[33m";
  }
  return "";
}

std::size_t terminal_columns(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  if (const char* text = std::getenv("COLUMNS")) {
    std::size_t value = 0;
    auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
    if (error == std::errc() && *end == '\0' && value >= 40 && value <= 1000) return value;
  }
  return 100;
}

bool wants_color(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::strcmp(term, "dumb") == 0) return false;
  return isatty(fd) == 1;
}

}  // namespace

std::string Style::paint(Tone tone, std::string_view text) const {
  if (!color || tone == Tone::plain || text.empty()) return std::string(text);
  return fmt::format("{}{}\033[0m", escape(tone), text);
}

Style style_for(int fd, ColorMode mode) {
  bool color = mode == ColorMode::always || (mode == ColorMode::automatic && wants_color(fd));
  return {.color = color, .columns = terminal_columns(fd)};
}

}  // namespace hodo::view
