// An ELF file's bytes by the addresses at which they will lie, and what its dynamic section says.
//
// Sections are hardly looked at: a program header is what the kernel and the dynamic linker go by,
// so nothing that runs can hide from it, and a file may come without sections.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/byte_reader.h"
#include "hodo/base/result.h"
#include "hodo/image/elf.h"
#include "hodo/isa/insn.h"

namespace hodo::text {

// What the dynamic linker stores at a place when it loads the file.
struct Relocation {
  enum class Kind : std::uint8_t {
    relative,  // the address `addend` in the file; or what the function there chooses (IRELATIVE)
    absolute,  // the symbol's address and `addend`
    slot,      // the symbol's address, through which code calls it (JUMP_SLOT, GLOB_DAT)
    other,
  };
  std::uint64_t place = 0;
  Kind kind = Kind::other;
  std::uint32_t symbol = 0;  // index in the dynamic symbol table
  std::uint64_t addend = 0;
  bool lazy = false;       // JUMP_SLOT: what is there is only called
  bool describes = false;  // TLSDESC: the linker puts a function of its own there
  bool chooses = false;    // IRELATIVE: the linker calls the function, and stores what it returns
};

class ElfBytes {
 public:
  // Of x86-64 and i386. `bytes` must outlive this. Errors: as image::read_elf; unsupported for
  // another machine.
  static Result<ElfBytes> read(std::span<const std::uint8_t> bytes);

  const image::Elf& elf() const { return elf_; }
  bool is_narrow() const { return elf_.elf_class == image::ElfClass::elf32; }
  isa::Mode mode() const { return is_narrow() ? isa::Mode::bits32 : isa::Mode::bits64; }
  // What addresses of the machine are cut to.
  std::uint64_t cut(std::uint64_t address) const {
    return is_narrow() ? address & 0xffffffff : address;
  }
  std::span<const std::uint8_t> file() const { return file_; }

  // The file's bytes from `vaddr` to the end of its segment's file part; empty outside of them.
  std::span<const std::uint8_t> at(std::uint64_t vaddr) const;
  // The file part of a segment, cut at the file's end.
  std::span<const std::uint8_t> of(const image::Segment& segment) const;
  // A number at `vaddr`; nullopt where the file has no such bytes.
  template <class T>
  std::optional<T> read(std::uint64_t vaddr) const {
    return ByteReader(at(vaddr)).read<T>();
  }
  // A number as wide as an address.
  std::optional<std::uint64_t> word(std::uint64_t vaddr) const {
    if (is_narrow()) return read<std::uint32_t>(vaddr);
    return read<std::uint64_t>(vaddr);
  }
  std::size_t word_size() const { return is_narrow() ? 4 : 8; }
  // Of the dynamic string table; empty where there is none.
  std::string_view dynamic_string(std::uint64_t offset) const;

  // The first program header of the type; nullopt: none.
  struct Part {
    std::uint64_t vaddr = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint32_t flags = 0;  // PF_*
  };
  std::optional<Part> part(std::uint32_t type) const;
  // All of these types.
  std::vector<Part> parts(std::initializer_list<std::uint32_t> types) const;

  // The address of the first section with this name; nullopt: none.
  std::optional<std::uint64_t> section(std::string_view name) const;

  // The value of the first dynamic entry with this tag.
  std::optional<std::uint64_t> dynamic(std::int64_t tag) const;
  std::vector<std::string> needed() const;
  std::vector<std::string> wished() const;
  std::string soname() const;
  // Cannot be written to once the file is loaded: the dynamic linker takes the right away when it
  // has relocated the part (RELRO), if there was one.
  bool is_constant(std::uint64_t vaddr) const;
  // Of DT_RELA, DT_REL, DT_JMPREL and DT_RELR, at most as many as the file has bytes for.
  std::vector<Relocation> relocations() const;
  // The name of a dynamic symbol; empty if there is no such one.
  std::string_view symbol_name(std::uint32_t index) const;
  // Its address if the file defines it.
  std::optional<std::uint64_t> symbol_value(std::uint32_t index) const;

  // How many dynamic symbols there are; nullopt: nothing says so.
  std::optional<std::uint32_t> symbol_count() const;
  // What other files can ask for by name.
  struct Export {
    std::uint64_t address = 0;
    std::string_view name;
  };
  // In no order; empty for a file without dynamic symbols, nullopt where nothing says how many
  // there are.
  std::optional<std::vector<Export>> exports() const;

 private:
  struct Entry {
    std::int64_t tag = 0;
    std::uint64_t value = 0;
  };
  struct TypedPart {
    std::uint32_t type = 0;
    Part part;
  };
  ElfBytes(std::span<const std::uint8_t> file, image::Elf elf)
      : file_(file), elf_(std::move(elf)) {}
  template <class Class>
  void read_headers();
  template <class Class>
  std::optional<std::uint64_t> find_section(std::string_view name) const;
  template <class Class>
  void add_relocations(std::int64_t address_tag, std::int64_t size_tag,
                       std::vector<Relocation>& out) const;
  template <class Word>
  void add_relr(std::vector<Relocation>& out) const;

  struct Symbol {
    std::uint32_t name = 0;
    std::uint64_t value = 0;
    bool defined = false;
  };
  template <class Sym>
  std::optional<Symbol> symbol_of(std::uint32_t index) const;
  std::optional<Symbol> symbol(std::uint32_t index) const;

  std::span<const std::uint8_t> file_;
  image::Elf elf_;
  std::vector<TypedPart> parts_;
  std::vector<Entry> dynamic_;
};

}  // namespace hodo::text
