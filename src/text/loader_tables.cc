#include "loader_tables.h"

#include <elf.h>

namespace hodo::text {
namespace {

constexpr std::uint64_t kHashWord = 4;

// The headers lie in the segment with the file's begin, if in any.
Function headers_of(const ElfBytes& elf) {
  const auto header = ByteReader(elf.file()).read<Elf64_Ehdr>();
  for (const image::Segment& s : elf.elf().segments) {
    if (s.offset != 0 || !header || header->e_phoff > s.file_size) continue;
    const std::uint64_t size =
        header->e_phoff + std::uint64_t{header->e_phnum} * header->e_phentsize;
    return {s.vaddr, s.vaddr + size};
  }
  return {};
}

// Of a DT_HASH, and of a DT_GNU_HASH where there are `symbols`.
std::uint64_t hash_size(const ElfBytes& elf, std::uint64_t at) {
  const std::uint64_t buckets = elf.read<std::uint32_t>(at).value_or(0);
  const std::uint64_t chains = elf.read<std::uint32_t>(at + kHashWord).value_or(0);
  return (2 + buckets + chains) * kHashWord;
}

std::uint64_t gnu_hash_size(const ElfBytes& elf, std::uint64_t at, std::uint64_t symbols) {
  struct Header {
    std::uint32_t buckets, first, bloom, shift;
  };
  const auto header = elf.read<Header>(at).value_or(Header{});
  const std::uint64_t hashed = symbols > header.first ? symbols - header.first : 0;
  return sizeof header + std::uint64_t{header.bloom} * sizeof(std::uint64_t) +
         (header.buckets + hashed) * kHashWord;
}

// Of a table of versions: linkers lay its records and their parts in one row, of one size each.
template <class Record>
std::uint64_t versions_size(const ElfBytes& elf, std::uint64_t at, std::uint64_t count,
                            std::uint16_t Record::* parts, std::uint64_t part_size) {
  ByteReader reader(elf.at(at));
  std::uint64_t size = 0;
  for (; count > 0; --count) {
    const auto record = reader.seek(size) ? reader.read<Record>() : std::nullopt;
    if (!record) break;
    size += sizeof *record + (*record).*parts * part_size;
  }
  return size;
}

}  // namespace

std::vector<Function> loader_tables(const ElfBytes& elf) {
  std::vector<Function> out = {headers_of(elf)};
  for (const ElfBytes::Part& part : elf.parts({PT_NOTE, PT_INTERP, PT_DYNAMIC})) {
    out.push_back({part.vaddr, part.vaddr + part.size});
  }
  const auto add = [&](std::int64_t tag, auto size_at) {
    if (const auto at = elf.dynamic(tag)) out.push_back({*at, *at + size_at(*at)});
  };
  const auto sized = [&](std::int64_t tag) {
    return [&elf, tag](std::uint64_t) { return elf.dynamic(tag).value_or(0); };
  };
  add(DT_RELA, sized(DT_RELASZ));
  add(DT_JMPREL, sized(DT_PLTRELSZ));
  add(DT_STRTAB, sized(DT_STRSZ));
  const std::uint64_t symbols = elf.symbol_count().value_or(0);
  add(DT_SYMTAB, [&](std::uint64_t) { return symbols * sizeof(Elf64_Sym); });
  add(DT_VERSYM, [&](std::uint64_t) { return symbols * sizeof(Elf64_Versym); });
  add(DT_HASH, [&](std::uint64_t at) { return hash_size(elf, at); });
  add(DT_GNU_HASH, [&](std::uint64_t at) { return gnu_hash_size(elf, at, symbols); });
  add(DT_VERNEED, [&](std::uint64_t at) {
    return versions_size(elf, at, elf.dynamic(DT_VERNEEDNUM).value_or(0), &Elf64_Verneed::vn_cnt,
                         sizeof(Elf64_Vernaux));
  });
  add(DT_VERDEF, [&](std::uint64_t at) {
    return versions_size(elf, at, elf.dynamic(DT_VERDEFNUM).value_or(0), &Elf64_Verdef::vd_cnt,
                         sizeof(Elf64_Verdaux));
  });
  return out;
}

}  // namespace hodo::text
