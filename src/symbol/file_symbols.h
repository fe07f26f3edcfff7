// The symbols of one ELF file and of its debug file, as they are read.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elf_file.h"
#include "hodo/image/elf.h"
#include "hodo/symbol/symbol_table.h"
#include "name_index.h"
#include "namesakes.h"
#include "range_map.h"

namespace hodo::symbol {

// Safe for concurrent use.
class FileSymbols {
 public:
  // `debug_file` is asked for where `file` has no .symtab.
  FileSymbols(const ElfFile& file, const image::Elf& elf,
              const std::function<std::optional<ElfFile>()>& debug_file);
  FileSymbols(const FileSymbols&) = delete;
  FileSymbols& operator=(const FileSymbols&) = delete;

  // No .symtab, here or in a debug file.
  bool stripped() const { return stripped_; }
  // Every symbol with its aliases, by address.
  std::span<const Symbol> symbols() const { return symbols_; }
  // The same, with what their sizes come from; those that the file gives no size for have 0.
  std::vector<Candidate> candidates() const;
  // As SymbolTable has them.
  const Symbol* at(std::uint64_t vaddr) const;
  std::vector<Symbol> named(std::string_view name) { return names_.find(name); }
  std::string_view mark_of(const Symbol& symbol);

 private:
  void add_table(const ElfFile& file, image::ElfClass elf_class, const Section& table);
  bool add_tables(const ElfFile& file, image::ElfClass elf_class, std::uint32_t type);
  void add_stubs(const ElfFile& file, const image::Elf& elf);
  // Puts those that were read in order, but for the first `ordered`, which are in it.
  void order(std::size_t ordered = 0);

  std::deque<std::vector<std::uint8_t>> strings_;  // copies of the string tables
  std::deque<std::string> stub_names_;
  std::vector<std::string_view> sources_{""};  // what STT_FILE symbols say
  bool stripped_ = false;
  std::vector<Candidate> read_;  // until all are in order
  RangeMap ranges_;
  std::vector<Symbol> symbols_;
  std::vector<Origin> origins_;  // of each symbol
  NameIndex names_{symbols_};
  std::once_flag marked_once_;
  Namesakes namesakes_;
};

}  // namespace hodo::symbol
