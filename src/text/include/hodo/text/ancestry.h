// The classes of C++ that a file's vtables belong to, and which of them have bases in common, as
// their typeinfo says.
//
// Sources: Itanium C++ ABI, "Virtual Table Layout" and "RTTI Layout". Classes are told apart by
// the names in their typeinfo: the same name is taken for the same class.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/text/elf_bytes.h"
#include "hodo/text/module.h"

namespace hodo::text {

class Pointers;
class Vtables;

class Ancestry {
 public:
  // What Module::ancestry() makes. Nothing of the arguments is kept but names, which live as long
  // as the file's bytes.
  Ancestry(const ElfBytes& elf, const Pointers& pointers, const Vtables& vtables);

  // The classes whose vtables hold a function, with all their bases.
  struct Kin {
    std::vector<std::uint32_t> all;      // numbers of classes, ascending
    std::vector<std::uint32_t> holders;  // of them, those whose vtables hold it, ascending
    // False: a class or a base is of another file, or there are too many, so that others may
    // belong.
    bool complete = true;
  };
  // Of the vtables that have it at this offset. Slots of another file: unspecified.
  Kin kin(std::span<const VirtualSlot> slots, std::uint64_t offset) const;
  // Certainly so: neither class is the other, and no class is a base of both.
  static bool are_strangers(const Kin& a, const Kin& b);

  // As typeinfo has it, mangled.
  std::string_view name(std::uint32_t number) const { return all_[number].name; }

  // A function is in vtables of strangers. So the linker made one function of those that have the
  // same instructions (--icf), and one call may be several classes' calls.
  bool shares_functions() const { return shares_functions_; }

 private:
  struct Class {
    std::string_view name;
    std::vector<std::uint32_t> bases;
    bool known = false;  // the file has its typeinfo
  };
  struct Reader;

  void add_family(std::uint32_t number, Kin& kin) const;

  std::vector<Class> all_;
  std::map<std::uint64_t, std::uint32_t> by_vtable_;  // by where objects point to
  bool shares_functions_ = false;
};

}  // namespace hodo::text
