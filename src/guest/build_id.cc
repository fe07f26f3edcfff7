#include "hodo/guest/build_id.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "hodo/base/byte_reader.h"

namespace hodo::guest {
namespace {

constexpr std::uint16_t kMostHeaders = 64;
constexpr std::uint64_t kMostNotes = 4096;
constexpr std::size_t kMostBytes = 20;  // as perf's records have room for

// Where the bytes of `file` at `offset` are mapped.
std::optional<std::uint64_t> address_of(const std::vector<GuestMapping>& mappings,
                                        const GuestMapping& file, std::uint64_t offset) {
  for (const GuestMapping& m : mappings) {
    const bool same = m.inode == file.inode && m.path == file.path;
    if (same && offset >= m.offset && offset - m.offset < m.end - m.start) {
      return m.start + (offset - m.offset);
    }
  }
  return std::nullopt;
}

// Empty: there is none.
std::span<const std::uint8_t> build_id_in(std::span<const std::uint8_t> notes) {
  constexpr auto aligned = [](std::uint32_t size) { return (std::uint64_t{size} + 3) & ~3ULL; };
  ByteReader in(notes);
  while (const auto header = in.read<Elf64_Nhdr>()) {
    const auto name = in.take(aligned(header->n_namesz));
    const auto body = name ? in.take(aligned(header->n_descsz)) : std::nullopt;
    if (!body) break;
    const bool gnu = header->n_namesz == 4 && std::memcmp(name->data(), ELF_NOTE_GNU, 4) == 0;
    if (!gnu || header->n_type != NT_GNU_BUILD_ID || header->n_descsz > kMostBytes) continue;
    return body->first(header->n_descsz);
  }
  return {};
}

}  // namespace

std::vector<std::uint8_t> read_build_id(const VirtualMemory& process,
                                        const std::vector<GuestMapping>& mappings,
                                        const GuestMapping& mapping) {
  const auto start = address_of(mappings, mapping, 0);
  const auto elf = start ? process.read<Elf64_Ehdr>(*start) : std::nullopt;
  if (!elf || std::memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (elf->e_ident[EI_CLASS] != ELFCLASS64) return {};
  for (std::uint16_t i = 0; i < std::min(elf->e_phnum, kMostHeaders); ++i) {
    const auto at = address_of(mappings, mapping, elf->e_phoff + i * sizeof(Elf64_Phdr));
    const auto header = at ? process.read<Elf64_Phdr>(*at) : std::nullopt;
    if (!header || header->p_type != PT_NOTE) continue;
    const auto notes_at = address_of(mappings, mapping, header->p_offset);
    std::vector<std::uint8_t> notes(std::min<std::uint64_t>(header->p_filesz, kMostNotes));
    if (!notes_at || !process.read(*notes_at, notes)) continue;
    if (const auto id = build_id_in(notes); !id.empty()) return {id.begin(), id.end()};
  }
  return {};
}

}  // namespace hodo::guest
