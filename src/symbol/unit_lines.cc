#include "unit_lines.h"

#include <algorithm>

namespace hodo::symbol {
namespace {

constexpr std::uint64_t kMost32 = ~std::uint32_t{0};

std::uint32_t read32(NumberReader& in) { return static_cast<std::uint32_t>(in.number(kMost32)); }

// One of so many.
std::uint32_t read_one_of(NumberReader& in, std::size_t count) {
  if (count == 0) in.refuse();
  return static_cast<std::uint32_t>(in.number(std::max<std::size_t>(count, 1) - 1));
}

// The same or kNone, which is 0.
std::uint32_t read_one_or_none(NumberReader& in, std::size_t count) {
  return static_cast<std::uint32_t>(in.number(std::min<std::uint64_t>(count, kMost32)) - 1);
}

std::uint32_t one_more(std::uint32_t number) { return number + 1; }

}  // namespace

std::vector<SourceFrame> UnitLines::frames(std::uint64_t vaddr) const {
  std::vector<SourceFrame> out;
  const auto after = std::ranges::upper_bound(spans, vaddr, {}, &Span::start);
  if (after == spans.begin()) return out;
  const Span& span = *(after - 1);
  std::uint32_t file = span.file;
  std::uint32_t line = span.line;
  if (span.scope == kNone && line != 0) out.push_back({"", strings[file], line, false});
  for (std::uint32_t i = span.scope; i != kNone; i = scopes[i].parent) {
    const Scope& scope = scopes[i];
    out.push_back({strings[scope.function], strings[file], line, scope.inlined});
    if (!scope.inlined) continue;
    file = scope.file;
    line = scope.line;
  }
  return out;
}

void UnitLines::write(NumberWriter& out) const {
  out.number(strings.size());
  for (const std::string& text : strings) out.text(text);
  out.number(scopes.size());
  for (const Scope& scope : scopes) {
    out.number(scope.function);
    out.number(scope.file);
    out.number(scope.line);
    out.number(one_more(scope.parent));
    out.number(scope.inlined ? 1 : 0);
  }
  out.number(spans.size());
  std::uint64_t last = 0;
  for (const Span& span : spans) {
    out.number(span.start - last);
    out.number(one_more(span.scope));
    out.number(span.file);
    out.number(span.line);
    last = span.start;
  }
}

std::optional<UnitLines> UnitLines::read(std::span<const std::uint8_t> bytes) {
  NumberReader in(bytes);
  UnitLines out;
  for (std::size_t i = in.count(); i > 0 && in.good(); --i) out.strings.push_back(in.text());
  const std::size_t words = out.strings.size();
  for (std::size_t i = in.count(5); i > 0 && in.good(); --i) {
    Scope scope;
    scope.function = read_one_of(in, words);
    scope.file = read_one_of(in, words);
    scope.line = read32(in);
    scope.parent = read_one_or_none(in, out.scopes.size());
    scope.inlined = in.number(1) != 0;
    out.scopes.push_back(scope);
  }
  std::uint64_t last = 0;
  for (std::size_t i = in.count(4); i > 0 && in.good(); --i) {
    Span span;
    last = span.start = in.behind(last);
    span.scope = read_one_or_none(in, out.scopes.size());
    span.file = read_one_of(in, words);
    span.line = read32(in);
    out.spans.push_back(span);
  }
  if (!in.good() || !in.at_end()) return std::nullopt;
  return out;
}

}  // namespace hodo::symbol
