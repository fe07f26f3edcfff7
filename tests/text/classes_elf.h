// A file with a class that has virtual functions, and with functions that are named in other ways.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "elf_builder.h"

namespace hodo::text {

inline constexpr std::uint64_t kIsNamed = 0x1010;     // by the first function's code
inline constexpr std::uint64_t kIsInTable = 0x1018;   // at 2030
inline constexpr std::uint64_t kIsVirtual = 0x1020;   // in the vtable's second slot
inline constexpr std::uint64_t kIsUntaken = 0x1028;   // nowhere
inline constexpr std::uint64_t kIsExported = 0x1030;  // others may ask for it
inline constexpr std::uint64_t kIsDistant = 0x1038;   // so far from 2038

struct Classes {
  std::vector<std::uint64_t> data = {
      0,  // 2000 how far from the object's begin
      0,  // 2008 typeinfo
      0,  // 2010 first slot
      0,  // 2018 second slot
      1,  // 2020 something else
      0,  // 2028 typeinfo: of the class of its kind
      0,  // 2030 a table of one function
      kIsDistant - 0x2038,
  };
  // RELATIVE relocations: what comes where.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pointers = {
      {0x2008, 0x2028}, {0x2010, kIsExported}, {0x2018, kIsVirtual}, {0x2030, kIsInTable}};
  // IRELATIVE relocations, alike.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> choosers;
  // TLSDESC relocations, alike.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> descriptors;
  std::vector<std::pair<std::int64_t, std::uint64_t>> entries;  // of the dynamic section, besides
  std::uint64_t typeinfo = 0x2028;
  std::string type_class = "_ZTVN10__cxxabiv117__class_type_infoE";
  std::uint32_t count = 3;  // of symbols, as DT_HASH says
  ElfBuilder elf;

  Classes() {
    elf.text = Bytes(0x40, 0xc3);
    const Bytes lea = {0x48, 0x8d, 0x05, 0x09, 0x00, 0x00, 0x00};  // 1000 lea rax, [1010]
    std::copy(lea.begin(), lea.end(), elf.text.begin());
    for (const std::uint64_t begin : {std::uint64_t{0x1000}, kIsNamed, kIsInTable, kIsVirtual,
                                      kIsUntaken, kIsExported, kIsDistant}) {
      elf.functions.push_back({begin, begin + 8});
    }
  }

  ElfBuilder build() {
    elf.data.clear();
    for (const std::uint64_t word : data) append(elf.data, word);
    add_dynamic();
    return elf;
  }

 private:
  std::uint64_t here() const { return kData + elf.data.size(); }

  // Symbol 1 is another file's, 2 is exported.
  void add_dynamic() {
    const std::uint64_t relocations = here();
    for (const auto& [list, type] : {std::pair(&pointers, R_X86_64_RELATIVE),
                                     {&choosers, R_X86_64_IRELATIVE},
                                     {&descriptors, R_X86_64_TLSDESC}}) {
      for (const auto& [place, to] : *list) {
        append(elf.data, Elf64_Rela{place, ELF64_R_INFO(0, type), static_cast<Elf64_Sxword>(to)});
      }
    }
    append(elf.data, Elf64_Rela{typeinfo, ELF64_R_INFO(1, R_X86_64_64), 16});
    const std::uint64_t size = here() - relocations;
    const std::uint64_t symbols = here();
    append(elf.data, Elf64_Sym{});
    append(elf.data, Elf64_Sym{.st_name = 1,
                               .st_info = STT_OBJECT,
                               .st_other = 0,
                               .st_shndx = 0,
                               .st_value = 0,
                               .st_size = 0});
    append(elf.data, Elf64_Sym{.st_name = 1,
                               .st_info = STT_FUNC,
                               .st_other = 0,
                               .st_shndx = 1,
                               .st_value = kIsExported,
                               .st_size = 8});
    const std::uint64_t names = here();
    append(elf.data, Bytes{0});
    for (const char c : type_class) append(elf.data, c);
    elf.data.resize((elf.data.size() / 8 + 1) * 8);
    const std::uint64_t hash = here();
    append(elf.data, std::uint32_t{0});
    append(elf.data, count);
    elf.dynamic = here();
    for (const auto& [tag, value] : entries) {
      append(elf.data, Elf64_Dyn{.d_tag = tag, .d_un = {.d_val = value}});
    }
    for (const auto& [tag, value] : {std::pair<std::int64_t, std::uint64_t>{DT_RELA, relocations},
                                     {DT_RELASZ, size},
                                     {DT_SYMTAB, symbols},
                                     {DT_STRTAB, names},
                                     {count == 0 ? DT_DEBUG : DT_HASH, hash},
                                     {DT_NULL, 0}}) {
      append(elf.data, Elf64_Dyn{.d_tag = tag, .d_un = {.d_val = value}});
    }
  }
};

}  // namespace hodo::text
