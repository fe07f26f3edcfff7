// Source positions by tables that are kept in a LineStore, which are made of DWARF where they lack.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "debug_file.h"
#include "dwarf_source.h"
#include "hodo/symbol/line_store.h"
#include "hodo/symbol/symbol_table.h"
#include "kept_lines.h"

namespace hodo::symbol {

// Use from one thread at a time. What was found out anew is stored when it ends.
class KeptSource {
 public:
  using Key = std::function<FilesKey()>;
  using Dwarf = std::function<DwarfSource*()>;

  // `key` tells the files as they are then, `dwarf` opens them; null: they have none.
  KeptSource(std::shared_ptr<LineStore> store, Key key, Dwarf dwarf);
  KeptSource(const KeptSource&) = delete;
  KeptSource& operator=(const KeptSource&) = delete;
  ~KeptSource();

  // As SymbolTable::source. nullopt: of this unit no table can be made.
  std::optional<std::vector<SourceFrame>> frames(std::uint64_t vaddr);

 private:
  const UnitLines* make(std::uint64_t vaddr);
  void make_more(DwarfSource& dwarf, std::uint64_t behind);

  std::shared_ptr<LineStore> store_;
  Key key_of_;
  Dwarf dwarf_;
  FilesKey key_;
  std::optional<KeptLines> kept_;
};

}  // namespace hodo::symbol
