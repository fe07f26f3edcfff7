// The words of a file's data that hold addresses, and the vtables of C++ classes among them.
//
// Sources: Itanium C++ ABI, "Virtual Table Layout" and "RTTI Layout".
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hodo/text/elf_bytes.h"
#include "hodo/text/module.h"
#include "text_map.h"

namespace hodo::text {

// A word of the file's data that holds an address when the file is loaded.
struct Pointer {
  std::uint64_t place = 0;
  std::uint64_t to = 0;   // in the file; 0: in another one
  std::string_view name;  // of what it points to, where a symbol says so
};

// Of a file that moves the dynamic linker writes all addresses; in one that does not, any word may
// be one. `elf` must outlive this.
class Pointers {
 public:
  static constexpr std::uint64_t kWord = 8;  // its size: nothing is read of 32-bit files

  Pointers(const ElfBytes& elf, std::span<const Relocation> relocations);

  std::span<const Pointer> all() const { return all_; }  // by place
  // Null: the word at this place is no address.
  const Pointer* at(std::uint64_t place) const;

 private:
  void add(const Relocation& r);
  void add_words(const image::Segment& segment);
  bool is_mapped(std::uint64_t address) const;

  const ElfBytes& elf_;
  std::vector<Pointer> all_;  // by place
};

// What is in the tables of a class: how far what is pointed to lies from the object's begin, then
// its typeinfo; there objects point behind, to the functions.
class Vtables {
 public:
  // `named`: addresses that something in the file points to, ascending: where other data begins.
  // The others must outlive this.
  Vtables(const ElfBytes& elf, const Pointers& pointers, const TextMap& text,
          const std::vector<ElfBytes::Export>& exports, std::vector<std::uint64_t> named);

  std::span<const VirtualSlot> slots() const { return slots_; }  // by place
  // Null: none is there.
  const VirtualSlot* at(std::uint64_t place) const;
  // Of the typeinfo there: the symbol of the vtable that its first word points into, which says of
  // what kind the type is; empty: none, or not a class's.
  std::string_view kind_of_type(std::uint64_t typeinfo) const;

 private:
  bool is_typeinfo(const Pointer& p) const;
  bool is_header(const Pointer& p) const;
  void read(std::uint64_t begin);

  const ElfBytes& elf_;
  const Pointers& pointers_;
  const TextMap& text_;
  std::vector<std::uint64_t> named_;
  // What the first word of typeinfo points to, and the symbol of that vtable.
  std::vector<ElfBytes::Export> type_classes_;
  std::vector<VirtualSlot> slots_;
};

}  // namespace hodo::text
