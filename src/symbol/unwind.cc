#include "unwind.h"

#include <elf.h>

#include <algorithm>

namespace hodo::symbol {

image::UnwindTables unwind_tables(const ElfFile& file, const image::Elf& elf) {
  const Section* const frames = file.section(".eh_frame");
  if (frames == nullptr) return {};
  const auto& all = file.sections();
  const auto bytes_at = [&](std::uint64_t vaddr) -> std::span<const std::uint8_t> {
    const auto has = [&](const Section& s) {
      return (s.flags & SHF_ALLOC) != 0 && s.type != SHT_NOBITS && vaddr - s.address < s.size;
    };
    const auto section = std::ranges::find_if(all, has);
    if (section == all.end()) return {};
    const auto bytes = file.bytes(*section);
    return bytes.subspan(std::min<std::size_t>(bytes.size(), vaddr - section->address));
  };
  std::uint64_t size = 0;
  for (const Section& s : all) {
    if (&s == frames || s.name.starts_with(".gcc_except_table")) size += file.bytes(s).size();
  }
  return image::read_unwind_tables({.at = bytes_at,
                                    .frames = frames->address,
                                    .size = size,
                                    .narrow = elf.elf_class == image::ElfClass::elf32});
}

}  // namespace hodo::symbol
