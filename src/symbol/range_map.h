// Which symbol an address belongs to, when symbols nest, overlap, share addresses and lack sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hodo/base/numbers.h"
#include "hodo/symbol/symbol_table.h"

namespace hodo::symbol {

// What a file says of a symbol beside what everybody wants to know.
struct Origin {
  std::uint32_t source = 0;       // of a local one, in FileSymbols::sources_; 0: unknown
  std::uint64_t section_end = 0;  // where a symbol without a size ends at the latest
};

struct Candidate {
  Symbol symbol;
  Origin origin;
};

// True if `a` is the better name for code that both name (see SymbolTable::at).
bool better_name(const Candidate& a, const Candidate& b);

// Cuts the address space into ranges that belong to one symbol each: the one that starts last of
// those that cover it. A symbol without a size inside of one that has a size is a mark in its code
// and gets no range; elsewhere it reaches up to the next symbol.
class RangeMap {
 public:
  RangeMap() = default;
  // `candidates` in order of symbol.start. Gives those without a size the extent of their range.
  explicit RangeMap(std::span<Candidate> candidates);

  // As bytes, and from bytes that anybody may have made up: refused unless each range lies in its
  // candidate, one of `symbols`.
  void write(NumberWriter& out) const;
  static RangeMap read(NumberReader& in, std::span<const Symbol> symbols);

  // Index of the candidate that has the address.
  std::optional<std::size_t> at(std::uint64_t address) const;

 private:
  struct Range {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint32_t candidate = 0;
  };
  class Sweep;
  static bool covers(const Symbol& symbol, const Range& range);
  std::vector<Range> ranges_;
};

}  // namespace hodo::symbol
