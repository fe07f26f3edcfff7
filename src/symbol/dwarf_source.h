// Source positions and inlined calls from DWARF.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf_file.h"
#include "hodo/symbol/debug_functions.h"
#include "hodo/symbol/symbol_table.h"
#include "split_unit.h"
#include "unit_lines.h"
#include "unit_ranges.h"

namespace hodo::symbol {

// The DWARF of one file, by libdw. Use from one thread at a time.
class DwarfSource {
 public:
  // nullopt: the file has no DWARF.
  static std::optional<DwarfSource> open(ElfFile file);

  // As SymbolTable::source.
  std::vector<SourceFrame> frames(std::uint64_t vaddr);
  // As SymbolTable::inlined.
  std::optional<SourceFrame> inlined(std::string_view name);
  // As SymbolTable::inlined_calls.
  std::vector<InlinedCall> inlined_calls(std::string_view name);
  // As debug_functions_of().
  DebugFunctions functions();
  // As SymbolTable::lines.
  LineTable lines();

  // By start: where the units' code lies.
  const std::vector<UnitRange>& units() const { return units_; }
  // A unit's table; nullopt: as read_unit().
  std::optional<UnitLines> unit_lines(std::uint64_t unit);
  // Bytes of the DWARF that the unit has.
  std::uint64_t size_of(std::uint64_t unit);
  // Of a .dwo file that answers up to now would have needed, as Unit::missing; else empty.
  const std::string& missing() const { return missing_; }

 private:
  struct End {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };
  DwarfSource(ElfFile file, Dwarf* dwarf);
  void read_units();
  Unit whole(const Dwarf_Die& unit);
  std::optional<Dwarf_Die> unit_of(std::uint64_t vaddr);

  ElfFile file_;  // must outlive dwarf_
  std::string path_;
  std::unique_ptr<Dwarf, End> dwarf_;
  std::vector<UnitRange> units_;
  std::string missing_;
};

}  // namespace hodo::symbol
