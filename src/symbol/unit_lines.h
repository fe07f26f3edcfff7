// What DWARF says of every address of one compilation unit, as a table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hodo/base/numbers.h"
#include "hodo/symbol/symbol_table.h"

namespace hodo::symbol {

struct UnitLines {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // A function, or a call inlined into one.
  struct Scope {
    std::uint32_t function = 0;  // in strings
    std::uint32_t file = 0;      // of the call that was inlined, in strings
    std::uint32_t line = 0;
    std::uint32_t parent = kNone;  // in scopes, before this one
    bool inlined = false;
  };
  // Holds for the code from `start` up to where the next begins.
  struct Span {
    std::uint64_t start = 0;
    std::uint32_t scope = kNone;  // the innermost one
    std::uint32_t file = 0;       // in strings
    std::uint32_t line = 0;
    bool operator==(const Span&) const = default;
  };

  std::vector<std::string> strings;
  std::vector<Scope> scopes;
  std::vector<Span> spans;  // by start

  // As SymbolTable::source, for code of this unit.
  std::vector<SourceFrame> frames(std::uint64_t vaddr) const;

  void write(NumberWriter& out) const;
  // nullopt: that is no table.
  static std::optional<UnitLines> read(std::span<const std::uint8_t> bytes);
};

}  // namespace hodo::symbol
