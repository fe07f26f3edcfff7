#include "range_map.h"

#include <algorithm>
#include <tuple>

namespace hodo::symbol {
namespace {

std::size_t leading_underscores(std::string_view name) {
  return std::min(name.find_first_not_of('_'), name.size());
}

}  // namespace

bool better_name(const Candidate& a, const Candidate& b) {
  const auto key = [](const Candidate& c) {
    return std::tuple(c.symbol.kind != SymbolKind::plt, c.symbol.kind == SymbolKind::label,
                      !c.symbol.global, leading_underscores(c.symbol.name), c.symbol.weak,
                      c.symbol.name.size(), c.symbol.name, c.symbol.size == 0);
  };
  return key(a) < key(b);
}

// Goes up through the addresses with a stack of the symbols that are open there.
class RangeMap::Sweep {
 public:
  explicit Sweep(std::vector<Range>& ranges) : ranges_(ranges) {}

  // Everything below `address` is decided.
  void advance(std::uint64_t address) {
    while (!open_.empty() && open_.back().end <= address) {
      emit(open_.back().end);
      open_.pop_back();
    }
    if (!open_.empty()) emit(address);
    position_ = std::max(position_, address);
  }
  bool inside_a_symbol() const { return !open_.empty(); }
  void open(const Range& range) { open_.push_back(range); }

 private:
  void emit(std::uint64_t end) {
    if (end <= position_) return;
    ranges_.push_back({position_, end, open_.back().candidate});
    position_ = end;
  }

  std::vector<Range>& ranges_;
  std::vector<Range> open_;
  std::uint64_t position_ = 0;
};

RangeMap::RangeMap(std::span<Candidate> candidates) {
  Sweep sweep(ranges_);
  for (std::size_t i = 0, next = 0; i < candidates.size(); i = next) {
    const std::uint64_t start = candidates[i].symbol.start;
    std::size_t best = i;
    std::uint64_t largest = candidates[i].symbol.size;
    for (next = i + 1; next < candidates.size() && candidates[next].symbol.start == start; ++next) {
      if (better_name(candidates[next], candidates[best])) best = next;
      largest = std::max(largest, candidates[next].symbol.size);
    }
    sweep.advance(start);
    Candidate& chosen = candidates[best];
    if (chosen.symbol.size == 0) chosen.symbol.size = largest;
    if (chosen.symbol.size == 0) {
      if (sweep.inside_a_symbol()) continue;
      const auto next_start =
          next < candidates.size() ? candidates[next].symbol.start : chosen.origin.section_end;
      const auto end = std::min(next_start, chosen.origin.section_end);
      if (end <= start) continue;
      chosen.symbol.size = end - start;
    }
    const auto end = start + std::min(chosen.symbol.size, ~start);
    sweep.open({start, end, static_cast<std::uint32_t>(best)});
  }
  sweep.advance(~std::uint64_t{0});
}

void RangeMap::write(NumberWriter& out) const {
  out.number(ranges_.size());
  Range last;
  for (const Range& range : ranges_) {
    out.number(range.start - last.end);
    out.number(range.end - range.start);
    out.step(last.candidate, range.candidate);
    last = range;
  }
}

bool RangeMap::covers(const Symbol& symbol, const Range& range) {
  return symbol.start <= range.start &&
         range.end - symbol.start <= std::min(symbol.size, ~symbol.start);
}

RangeMap RangeMap::read(NumberReader& in, std::span<const Symbol> symbols) {
  constexpr std::size_t kLeastOfRange = 3;  // bytes
  RangeMap out;
  out.ranges_.resize(in.count(kLeastOfRange));
  Range last;
  for (Range& range : out.ranges_) {
    range.start = in.behind(last.end);
    range.end = in.behind(range.start);
    const std::uint64_t candidate = in.step(last.candidate);
    if (!in.good() || candidate >= symbols.size() || !covers(symbols[candidate], range)) {
      in.refuse();
      return {};
    }
    range.candidate = static_cast<std::uint32_t>(candidate);
    last = range;
  }
  return out;
}

std::optional<std::size_t> RangeMap::at(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::start);
  if (after == ranges_.begin()) return std::nullopt;
  const Range& range = *(after - 1);
  if (address >= range.end) return std::nullopt;
  return range.candidate;
}

}  // namespace hodo::symbol
