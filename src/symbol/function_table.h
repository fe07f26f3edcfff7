// The functions of a file by address, with and without names of their own: what most questions ask
// of it, so it can be kept.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "debug_file.h"
#include "hodo/symbol/line_store.h"
#include "hodo/symbol/symbol_table.h"
#include "range_map.h"
#include "synthetic_functions.h"

namespace hodo::symbol {

inline constexpr std::string_view kSynthetic = "sub_";  // before the address, which is the name

class FunctionTable {
 public:
  FunctionTable() = default;
  // `named` in order of symbol.start, those of unknown size with 0. Their names must outlive this.
  FunctionTable(std::vector<Candidate> named, std::span<const SyntheticFunction> found);
  FunctionTable(FunctionTable&&) noexcept = default;
  FunctionTable& operator=(FunctionTable&&) noexcept = default;

  // As SymbolTable::function_at() and functions().
  const Symbol* at(std::uint64_t vaddr) const;
  std::span<const Symbol> symbols() const { return symbols_; }

  // What tells functions from others of their names, by what `mark_of` says.
  void mark(const std::function<std::string_view(const Symbol&)>& mark_of);
  // As SymbolTable::mark_of(), after mark(). Those of a table that was read are in it.
  std::string_view mark_of(const Symbol& symbol) const;

  // The table as bytes, and from bytes that anybody may have made up: nullopt if it cannot be that.
  std::vector<std::uint8_t> write() const;
  static std::optional<FunctionTable> read(std::vector<std::uint8_t> bytes);

 private:
  // `room`: so long may names still become.
  void name_part(const SyntheticFunction& part, std::size_t& room);

  struct Mark {
    std::uint32_t symbol = 0;  // index
    std::string_view text;
  };

  std::vector<std::uint8_t> bytes_;  // what was read; names and marks lie here
  std::deque<std::string> texts_;    // or here
  RangeMap ranges_;
  std::vector<Symbol> symbols_;  // by start
  std::vector<Mark> marks_;      // by symbol
};

// That which is kept for the files that `key` tells, else what `make` gives, which is kept then
// unless it is empty or very large.
FunctionTable kept_function_table(LineStore& store, const std::function<FilesKey()>& key,
                                  const std::function<FunctionTable()>& make);

}  // namespace hodo::symbol
