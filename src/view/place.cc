#include "hodo/view/place.h"

#include <fmt/format.h>

#include "hodo/base/last_component.h"
#include "hodo/view/text.h"

namespace hodo::view {
std::string object_name(const session::Place& place) {
  return printable(last_component(place.object));
}

// "[ls+0x55d0]"; an object that has brackets of its own, "[vdso]", keeps one pair.
static std::string object_offset(const session::Place& place) {
  std::string object = object_name(place);
  if (object.starts_with('[') && object.ends_with(']'))
    object = object.substr(1, object.size() - 2);
  return fmt::format("[{}+{:#x}]", object, place.offset);
}

std::string function_name(std::uint64_t address, const session::Place& place) {
  if (!place.symbol.empty()) return printable(place.symbol);
  if (!place.object.empty()) return object_offset(place);
  return fmt::format("{:#x}", address);
}

std::string describe(std::uint64_t address, const session::Place& place, const Style& style) {
  if (place.symbol.empty() && place.object.empty()) return fmt::format("{:x} [unknown]", address);
  std::string symbol = style.paint(Tone::name, function_name(address, place));
  if (place.symbol.empty()) return fmt::format("{:x} {}", address, symbol);
  std::string object = style.paint(Tone::dim, fmt::format("({})", object_name(place)));
  return fmt::format("{:x} {}+{:#x} {}", address, symbol, place.offset, object);
}

std::string source_line(const std::vector<symbol::SourceFrame>& frames) {
  if (frames.empty() || frames[0].line == 0) return "";
  return fmt::format("{}:{}", printable(last_component(frames[0].file)), frames[0].line);
}

std::string source_text(const std::vector<symbol::SourceFrame>& frames, SourceDetail detail) {
  if (!detail.inlined) return detail.line ? source_line(frames) : "";
  std::string out;
  for (const symbol::SourceFrame& frame : frames) {
    // The outermost one is the function that the symbol names.
    if (&frame == &frames.back() && frames.size() == 1 && !detail.line) break;
    if (!out.empty()) out += " in ";
    if (frames.size() > 1) out += printable(frame.function);
    if (!detail.line || frame.line == 0) continue;
    if (frames.size() > 1) out += ' ';
    out += fmt::format("{}:{}", printable(last_component(frame.file)), frame.line);
  }
  return out;
}

}  // namespace hodo::view
