// Reads the tables of 32-bit and 64-bit ELF files alike: each record is handed on in its 64-bit
// form.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <span>

#include "hodo/base/byte_reader.h"
#include "hodo/image/elf.h"

namespace hodo::symbol {

// Calls visit(Elf64_Sym) for each whole entry of a symbol table.
template <class Visit>
void for_each_symbol(std::span<const std::uint8_t> table, image::ElfClass elf_class, Visit visit) {
  ByteReader reader(table);
  if (elf_class == image::ElfClass::elf64) {
    while (const auto s = reader.read<Elf64_Sym>()) visit(*s);
    return;
  }
  while (const auto s = reader.read<Elf32_Sym>()) {
    visit(Elf64_Sym{.st_name = s->st_name,
                    .st_info = s->st_info,
                    .st_other = s->st_other,
                    .st_shndx = s->st_shndx,
                    .st_value = s->st_value,
                    .st_size = s->st_size});
  }
}

struct Relocation {
  std::uint64_t place = 0;
  std::uint32_t type = 0;
  std::uint32_t symbol = 0;  // index in the symbol table of the section's link
  std::int64_t addend = 0;   // 0 in SHT_REL
};

// Calls visit(Relocation) for each whole entry of a SHT_REL or SHT_RELA section.
template <class Visit>
void for_each_relocation(std::span<const std::uint8_t> table, image::ElfClass elf_class, bool rela,
                         Visit visit) {
  ByteReader reader(table);
  if (elf_class == image::ElfClass::elf64) {
    while (const auto r = reader.read<Elf64_Rel>()) {
      const auto addend = rela ? reader.read<Elf64_Sxword>() : 0;
      visit(Relocation{r->r_offset, static_cast<std::uint32_t>(ELF64_R_TYPE(r->r_info)),
                       static_cast<std::uint32_t>(ELF64_R_SYM(r->r_info)), addend.value_or(0)});
    }
    return;
  }
  while (const auto r = reader.read<Elf32_Rel>()) {
    const auto addend = rela ? reader.read<Elf32_Sword>() : 0;
    visit(Relocation{r->r_offset, static_cast<std::uint32_t>(ELF32_R_TYPE(r->r_info)),
                     static_cast<std::uint32_t>(ELF32_R_SYM(r->r_info)), addend.value_or(0)});
  }
}

// The string at `offset` of a string table; nullopt if it does not end within the table or within
// kLongestName bytes (a hostile table could make every symbol's name as long as the file).
inline constexpr std::size_t kLongestName = 16384;
inline std::optional<std::string_view> string_at(std::span<const std::uint8_t> table,
                                                 std::uint64_t offset) {
  if (offset >= table.size()) return std::nullopt;
  const auto* const start = reinterpret_cast<const char*>(table.data()) + offset;
  const std::size_t room = table.size() - static_cast<std::size_t>(offset);
  const std::string_view rest(start, room < kLongestName ? room : kLongestName);
  const auto end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

}  // namespace hodo::symbol
