// Source positions and inlined calls from DWARF.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "elf_file.h"
#include "hodo/symbol/symbol_table.h"

namespace hodo::symbol {

// The DWARF of one file, by libdw. Use from one thread at a time.
class DwarfSource {
 public:
  // nullopt: the file has no DWARF.
  static std::optional<DwarfSource> open(ElfFile file);

  // As SymbolTable::source.
  std::vector<SourceFrame> frames(std::uint64_t vaddr);
  // As SymbolTable::lines.
  LineTable lines();

 private:
  struct End {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };
  struct UnitRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    Dwarf_Off unit = 0;  // of the unit's DIE
  };
  DwarfSource(ElfFile file, Dwarf* dwarf);
  void read_units();
  std::optional<Dwarf_Die> unit_of(std::uint64_t vaddr);

  ElfFile file_;  // must outlive dwarf_
  std::unique_ptr<Dwarf, End> dwarf_;
  std::vector<UnitRange> units_;  // by start
};

}  // namespace hodo::symbol
