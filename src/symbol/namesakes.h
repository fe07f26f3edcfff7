// Functions that share a name in one file: static ones of several sources, or a static one beside
// a global one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/symbol/symbol_table.h"

namespace hodo::symbol {

// What .symtab says of a symbol. Views must outlive Namesakes.
struct LocalSymbol {
  const Symbol* symbol = nullptr;
  std::string_view source;  // of the STT_FILE symbol before it; empty: none, or it is global
};

class Namesakes {
 public:
  Namesakes() = default;
  // `by_name`: all of a file's symbols, those of one name beside each other.
  explicit Namesakes(std::span<const LocalSymbol> by_name);

  // What tells a local function from the others of its name: its source file's name, or its address
  // where one source has several. Empty: nobody else has the name, or it is a global one.
  std::string_view mark_of(const Symbol& symbol) const;

 private:
  struct Marked {
    std::string_view name;
    std::uint64_t start = 0;
    std::string_view source;
    std::string mark;
  };
  void mark(std::span<const LocalSymbol> same);
  void mark_cold_parts(std::span<const LocalSymbol> by_name);

  std::vector<Marked> marked_;  // by name and start
};

}  // namespace hodo::symbol
