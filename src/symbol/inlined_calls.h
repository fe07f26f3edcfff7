// Where calls were inlined, by DWARF (DW_TAG_inlined_subroutine).
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dies.h"
#include "hodo/symbol/symbol_table.h"
#include "split_unit.h"

namespace hodo::symbol {

// Finds those of the functions that a name may mean, unit by unit.
class InlinedCalls {
 public:
  explicit InlinedCalls(std::string_view name) : name_(name) {}

  // Of a damaged unit as many as can be found.
  void add_unit(Unit unit);
  // As SymbolTable::inlined_calls.
  std::vector<InlinedCall> take();

 private:
  struct Found {
    InlinedCall call;
    int depth = 0;
    bool column = false;  // DWARF says in which the call stands
  };
  void add(Dwarf_Die& unit, Dwarf_Die& die, int depth);
  const std::string& name_if_meant(Dwarf_Die& die);

  std::string name_;
  // By function (DW_AT_abstract_origin): where its entry lies in memory, as other files (dwz,
  // -gsplit-dwarf) have entries at the same offsets.
  std::unordered_map<const void*, std::string> judged_;  // its name; empty: not meant
  Scopes scopes_;
  std::vector<Found> found_;
  std::size_t ranges_ = 0;
};

// Such calls as bytes, and from bytes that anybody may have made up: nullopt if it cannot be that.
std::vector<std::uint8_t> write_inlined_calls(const std::vector<InlinedCall>& calls);
std::optional<std::vector<InlinedCall>> read_inlined_calls(std::span<const std::uint8_t> bytes);

}  // namespace hodo::symbol
