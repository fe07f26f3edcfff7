// The symbols of one ELF file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/image/elf.h"
#include "hodo/image/unwind_tables.h"
#include "hodo/symbol/line_store.h"
#include "hodo/symbol/source_paths.h"

namespace hodo::symbol {

class DwarfSource;
class ElfFile;
class FileSymbols;
class FunctionTable;
struct FilesKey;

enum class SymbolKind : std::uint8_t {
  function,
  ifunc,  // chooses the function at load time; its code is the chooser's
  plt,    // a stub that jumps to another module's function: "puts@plt"
  label,  // code without a type, as assemblers leave it
  // A function that the file has no name for, called "sub_401230" by its address: see
  // function_at().
  synthetic,
};

struct Symbol {
  std::string_view name;    // as in the file: mangled, any bytes; lives as long as the table
  std::uint64_t start = 0;  // before relocation
  std::uint64_t size = 0;   // bytes; where the file gives 0, up to the next symbol or section's end
  SymbolKind kind = SymbolKind::function;
  bool global = false;
  bool weak = false;
  bool sized = true;  // the file gives the size
};

// One step of the way from an address out to the function whose code it is.
struct SourceFrame {
  std::string function;    // mangled where DWARF has a linkage name; may be empty
  std::string file;        // may be empty
  std::uint32_t line = 0;  // 0: unknown
  bool inlined = false;    // the code was inlined into the next frame's function
};

// A call that the compiler has put the called function's code in the place of.
struct InlinedCall {
  // Code of a file: [begin, end), before relocation.
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  std::string function;  // as SourceFrame's
  // Where it begins, before relocation: DW_AT_entry_pc, and where its copies do if a loop around it
  // was unrolled. By address; none where DWARF does not say it, as clang's.
  std::vector<std::uint64_t> entries;
  std::vector<Range> ranges;  // its code, with what was inlined there in turn; by address, apart
};

// The line numbers of a file: which source line the code from `address` up to `end` is of.
struct LineRow {
  std::uint64_t address = 0;  // before relocation
  std::uint64_t end = 0;
  std::uint32_t file = 0;  // index in LineTable::files
  std::uint32_t line = 0;
  bool statement = false;  // a recommended place for a breakpoint: the line begins here
};
struct LineTable {
  std::vector<std::string> files;  // paths, absolute where the compiler says so
  std::vector<LineRow> rows;       // by address; sequences of units may overlap in damaged files
};

// Where detached debug information is looked for: ROOT/.build-id/xx/yyyy.debug, then what
// .gnu_debuglink names beside the file, in its .debug/ folder and in ROOT/<folder of the file>.
struct DebugPaths {
  std::vector<std::string> roots = {"/usr/lib/debug"};
  SourcePaths sources = {};  // applied to the names of sources that a SymbolTable tells
};

// Opening reads the headers only. Symbols (.symtab, .dynsym, where there is no .symtab the debug
// file's or that in .gnu_debugdata, names for PLT stubs) are read at the first question about one
// and kept; line numbers and inlined frames at the first source(). Safe for concurrent use. What
// cannot be read of a damaged file is missing here, and nothing worse: the file is input like any
// other.
class SymbolTable {
 public:
  // `lines`: where source positions and functions are kept, for the next time that the same file is
  // opened; null: nowhere. Errors: as image::read_elf_file.
  static Result<std::shared_ptr<const SymbolTable>> open(
      const std::string& path, DebugPaths debug = {}, std::shared_ptr<LineStore> lines = nullptr);
  // Of an image that is no file, as the vDSO; no debug file is looked for. Errors: as
  // image::read_elf.
  static Result<std::shared_ptr<const SymbolTable>> from_bytes(std::vector<std::uint8_t> bytes);

  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;
  ~SymbolTable();

  const image::Elf& elf() const { return elf_; }
  // What open() was given as `path`; empty of an image.
  const std::string& path() const { return path_; }
  // What open() was given as `lines`; may be null.
  const std::shared_ptr<LineStore>& store() const { return lines_; }

  // The innermost symbol whose [start, start + size) has the address; null where there is none. Of
  // several names for the same code: stubs before functions (mold gives each a name of its own),
  // these before labels, global before local names, then those with fewer leading underscores,
  // strong before weak, then the shortest.
  const Symbol* at(std::uint64_t vaddr) const;
  // The same by offset in the file, which is what a mapping tells: offset = ip - start + pgoff.
  const Symbol* at_offset(std::uint64_t file_offset) const;

  // All symbols of that name (local ones can share it), aliases included, by address. The name is
  // compared as the file has it; if there is none, to the demangled names with and without their
  // parameters, ABI tags left out; "sub_401230" also to functions that have no name.
  std::vector<Symbol> named(std::string_view name) const;

  // What tells a local function of this file from the others of its name: its source file's name,
  // or its address where one source has several. Empty: nobody else has the name, or it is a global
  // one.
  std::string_view mark_of(const Symbol& symbol) const;

  // Every symbol with its aliases, by address.
  std::span<const Symbol> symbols() const;

  // As at(), and where the file names nothing the function that its unwind table tells of, or, if
  // it has no .symtab, that its code calls. Before such a function a symbol without a size ends.
  // The first question about a file without .symtab takes a pass over its code.
  const Symbol* function_at(std::uint64_t vaddr) const;
  // All that function_at() knows, by address.
  std::span<const Symbol> functions() const;

  // Where exceptions land, by the address where they do.
  std::span<const image::LandingPad> landing_pads() const;

  // Source position of an address, innermost inlined call first; empty without DWARF for it. Takes
  // seconds for the first address of a huge file.
  std::vector<SourceFrame> source(std::uint64_t vaddr) const;

  // A function of that name, as named() takes it, that the compiler has inlined somewhere, and
  // where it is defined; nullopt: none, or no DWARF. A pass over all of the DWARF.
  std::optional<SourceFrame> inlined(std::string_view name) const;

  // Calls that were inlined of functions that may be called so, as named() takes it, by where they
  // begin at the earliest; there the outer ones first. A pass over all of the DWARF, whose answer
  // is kept.
  std::vector<InlinedCall> inlined_calls(std::string_view name) const;

  // "a.dwo is missing; it would be /p/a.dwo or /build/a.dwo": a .dwo file (-gsplit-dwarf) that
  // answers to the three questions above have needed up to now; raw. Empty: none.
  std::string missing_part() const;

  // All line numbers of the file; empty without DWARF.
  LineTable lines() const;

 private:
  struct State;
  class DwarfLock;
  explicit SymbolTable(image::Elf elf);
  FileSymbols* file_symbols() const;  // null: the file cannot be read
  FunctionTable make_functions() const;
  const FunctionTable& all_functions() const;
  std::optional<ElfFile> open_file() const;
  std::optional<ElfFile> open_debug_file(const ElfFile& file) const;
  DwarfSource* opened_dwarf() const;
  FilesKey key() const;
  std::vector<SourceFrame> compiled_source(std::uint64_t vaddr) const;  // as the compiler says it

  image::Elf elf_;
  std::string path_;  // empty: bytes_
  std::vector<std::uint8_t> bytes_;
  DebugPaths debug_;
  std::shared_ptr<LineStore> lines_;
  std::unique_ptr<State> state_;  // what is filled in at the first question
};

}  // namespace hodo::symbol
