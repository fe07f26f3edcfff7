// A file with classes that have virtual functions and bases.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "elf_builder.h"

namespace hodo::text {

struct FamilyMember {
  std::string name;  // as typeinfo has it
  std::vector<std::size_t> bases;
  std::vector<std::uint64_t> slots;  // functions; of none there is no vtable
  bool elsewhere = false;            // its typeinfo is another file's
};

class Family {
 public:
  ElfBuilder elf;

  // Functions of eight bytes that nothing but vtables leads to, farther from the text's begin than
  // any number in the file.
  static constexpr std::uint64_t function(unsigned number) { return kText + 0x400 + 8 * number; }

  explicit Family(std::vector<FamilyMember> members) : members_(std::move(members)) {
    elf.text = Bytes(0x500, 0xc3);
    for (unsigned i = 0; i < 8; ++i) elf.functions.push_back({function(i), function(i) + 8});
    for (const FamilyMember& member : members_) {
      names_.push_back(here());
      add_name(member.name);
    }
    for (std::uint64_t at = here(); const FamilyMember& member : members_) {
      typeinfo_.push_back(at);
      at += kWord * words_of_typeinfo(member);
    }
    for (std::size_t i = 0; i < members_.size(); ++i) add_typeinfo(i);
    for (std::size_t i = 0; i < members_.size(); ++i) add_vtable(i);
    add_dynamic();
  }

 private:
  static constexpr std::size_t kWord = 8;

  std::uint64_t here() const { return kData + elf.data.size(); }
  void word(std::uint64_t value) { append(elf.data, value); }
  void pointer(std::uint64_t to) {
    relocations_.push_back(
        {here(), ELF64_R_INFO(0, R_X86_64_RELATIVE), static_cast<Elf64_Sxword>(to)});
    word(0);
  }
  void symbol(std::string name, Elf64_Sxword addend) {
    symbols_.push_back(std::move(name));
    relocations_.push_back({here(), ELF64_R_INFO(symbols_.size(), R_X86_64_64), addend});
    word(0);
  }
  void add_name(const std::string& name) {
    for (const char c : name) append(elf.data, c);
    elf.data.resize((elf.data.size() / kWord + 1) * kWord);
  }

  // Its kind and its name; a base; or of several flags, how many, and of each what kind of base.
  static std::size_t words_of_typeinfo(const FamilyMember& member) {
    if (member.elsewhere) return 0;
    return 2 + (member.bases.size() > 1 ? 1 + 2 * member.bases.size() : member.bases.size());
  }

  void add_typeinfo(std::size_t number) {
    const FamilyMember& member = members_[number];
    if (member.elsewhere) return;
    const bool single = member.bases.size() == 1;
    symbol(member.bases.empty() ? "_ZTVN10__cxxabiv117__class_type_infoE"
           : single             ? "_ZTVN10__cxxabiv120__si_class_type_infoE"
                                : "_ZTVN10__cxxabiv121__vmi_class_type_infoE",
           16);
    pointer(names_[number]);
    if (member.bases.size() > 1) word(std::uint64_t{member.bases.size()} << 32);
    for (const std::size_t base : member.bases) {
      type_of(base);
      if (!single) word(2);  // public
    }
  }

  void type_of(std::size_t member) {
    if (members_[member].elsewhere) return symbol("_ZTI" + members_[member].name, 0);
    pointer(typeinfo_[member]);
  }

  void add_vtable(std::size_t member) {
    if (members_[member].slots.empty()) return;
    word(0);
    type_of(member);
    for (const std::uint64_t slot : members_[member].slots) pointer(slot);
    word(1);
  }

  void add_dynamic() {
    const std::uint64_t relocations = here();
    for (const Elf64_Rela& r : relocations_) append(elf.data, r);
    const std::uint64_t size = here() - relocations;
    Bytes names = {0};
    const std::uint64_t symbols = here();
    append(elf.data, Elf64_Sym{});
    for (const std::string& name : symbols_) {
      append(elf.data, Elf64_Sym{.st_name = static_cast<Elf64_Word>(names.size()),
                                 .st_info = STT_OBJECT,
                                 .st_other = 0,
                                 .st_shndx = 0,
                                 .st_value = 0,
                                 .st_size = 0});
      names.insert(names.end(), name.begin(), name.end());
      names.push_back(0);
    }
    const std::uint64_t strings = here();
    append(elf.data, names);
    elf.data.resize((elf.data.size() / kWord + 1) * kWord);
    const std::uint64_t hash = here();
    append(elf.data, std::uint32_t{0});
    append(elf.data, static_cast<std::uint32_t>(symbols_.size() + 1));
    elf.dynamic = here();
    for (const auto& [tag, value] : {std::pair<std::int64_t, std::uint64_t>{DT_RELA, relocations},
                                     {DT_RELASZ, size},
                                     {DT_SYMTAB, symbols},
                                     {DT_STRTAB, strings},
                                     {DT_HASH, hash},
                                     {DT_NULL, 0}}) {
      append(elf.data, Elf64_Dyn{.d_tag = tag, .d_un = {.d_val = value}});
    }
  }

  std::vector<FamilyMember> members_;
  std::vector<std::uint64_t> names_;
  std::vector<std::uint64_t> typeinfo_;
  std::vector<Elf64_Rela> relocations_;
  std::vector<std::string> symbols_;
};

}  // namespace hodo::text
