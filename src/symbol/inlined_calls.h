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

#include "hodo/symbol/symbol_table.h"

namespace hodo::symbol {

// Finds those of the functions that a name may mean, unit by unit.
class InlinedCalls {
 public:
  explicit InlinedCalls(std::string_view name) : name_(name) {}

  // Of a damaged unit as many as can be found.
  void add_unit(Dwarf_Die unit);
  // As SymbolTable::inlined_calls.
  std::vector<InlinedCall> take();

 private:
  struct Found {
    InlinedCall call;
    int depth = 0;
    bool column = false;  // DWARF says in which the call stands
  };
  void add(Dwarf_Die& unit, Dwarf_Die& die, int depth);
  bool is_meant(Dwarf_Die& die);

  std::string name_;
  std::unordered_map<Dwarf_Off, bool> judged_;  // by function (DW_AT_abstract_origin)
  std::vector<Found> found_;
  std::size_t ranges_ = 0;
};

// Such calls as bytes, and from bytes that anybody may have made up: nullopt if it cannot be that.
std::vector<std::uint8_t> write_inlined_calls(const std::vector<InlinedCall>& calls);
std::optional<std::vector<InlinedCall>> read_inlined_calls(std::span<const std::uint8_t> bytes);

}  // namespace hodo::symbol
