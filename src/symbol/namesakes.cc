#include "namesakes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <tuple>

#include "hodo/base/last_component.h"

namespace hodo::symbol {
namespace {

bool is_function(const LocalSymbol& one) {
  return one.symbol->kind == SymbolKind::function || one.symbol->kind == SymbolKind::ifunc;
}

std::string hex(std::uint64_t address) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), address, 16).ptr;
  return "0x" + std::string(digits.begin(), end);
}

// Compilers move the rare part of a function away: "f.cold", "f.cold.3".
std::string_view without_cold(std::string_view name) { return name.substr(0, name.find(".cold")); }

}  // namespace

Namesakes::Namesakes(std::span<const LocalSymbol> by_name) {
  const auto name = [&](std::size_t i) { return by_name[i].symbol->name; };
  for (std::size_t first = 0, end = 0; first < by_name.size(); first = end) {
    for (end = first + 1; end < by_name.size() && name(end) == name(first);) ++end;
    if (end - first > 1) mark(by_name.subspan(first, end - first));
  }
  if (marked_.empty()) return;
  mark_cold_parts(by_name);
  std::ranges::sort(marked_, {}, [](const Marked& m) { return std::tuple(m.name, m.start); });
}

// Of a hostile file all functions may have one name.
void Namesakes::mark(std::span<const LocalSymbol> same) {
  std::vector<const LocalSymbol*> local;
  std::set<std::uint64_t> places;
  for (const LocalSymbol& one : same) {
    if (!is_function(one)) continue;
    places.insert(one.symbol->start);
    if (!one.symbol->global) local.push_back(&one);
  }
  if (places.size() < 2) return;
  std::ranges::sort(local, {},
                    [](const LocalSymbol* l) { return std::tuple(l->source, l->symbol->start); });
  for (std::size_t first = 0, end = 0; first < local.size(); first = end) {
    const std::string_view source = local[first]->source;
    while (end < local.size() && local[end]->source == source) ++end;
    const bool one_place = local[first]->symbol->start == local[end - 1]->symbol->start;
    for (std::size_t i = first; i < end; ++i) {
      const Symbol& symbol = *local[i]->symbol;
      const bool by_source = one_place && !source.empty();
      marked_.push_back(
          {.name = symbol.name,
           .start = symbol.start,
           .source = source,
           .mark = by_source ? std::string(last_component(source)) : hex(symbol.start)});
    }
  }
}

// Those of a function that is marked, which may be the only one of its name to have one.
void Namesakes::mark_cold_parts(std::span<const LocalSymbol> by_name) {
  std::ranges::sort(marked_, {}, [](const Marked& m) { return std::tuple(m.name, m.source); });
  std::vector<Marked> parts;
  for (const LocalSymbol& one : by_name) {
    const std::string_view whole = without_cold(one.symbol->name);
    if (whole.size() == one.symbol->name.size() || !is_function(one) || one.symbol->global)
      continue;
    const auto of =
        std::ranges::equal_range(marked_, std::tuple(whole, one.source), {},
                                 [](const Marked& m) { return std::tuple(m.name, m.source); });
    if (of.size() != 1) continue;
    parts.push_back({one.symbol->name, one.symbol->start, one.source, of.front().mark});
  }
  // Parts that have namesakes themselves are marked so already, by the same source.
  marked_.insert(marked_.end(), parts.begin(), parts.end());
}

std::string_view Namesakes::mark_of(const Symbol& symbol) const {
  if (marked_.empty() || symbol.global) return {};
  const auto found =
      std::ranges::lower_bound(marked_, std::tuple(symbol.name, symbol.start), {},
                               [](const Marked& m) { return std::tuple(m.name, m.start); });
  const bool is =
      found != marked_.end() && found->name == symbol.name && found->start == symbol.start;
  return is ? std::string_view(found->mark) : std::string_view();
}

}  // namespace hodo::symbol
