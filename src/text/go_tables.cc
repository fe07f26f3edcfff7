#include "go_tables.h"

#include <algorithm>
#include <array>
#include <optional>

#include "hodo/base/byte_reader.h"

namespace hodo::text {
namespace {

// The header, behind its first word: no padding, a quantum of one byte for x86, pointers of the
// file's size. Go 1.18 and 1.20 differ in the first word only.
struct TableHeader {
  std::uint64_t functions = 0;   // how many
  std::uint64_t text_start = 0;  // what their entries count from
  std::uint64_t table = 0;       // address of (entry, place of the rest) of each
};

std::uint64_t text_start_of(std::uint64_t place, std::uint64_t value,
                            std::span<const Relocation> relocations) {
  if (value != 0) return value;
  const auto at = std::ranges::find(relocations, place, &Relocation::place);
  return at == relocations.end() ? 0 : at->addend;
}

template <class Word>
std::optional<TableHeader> header_at(std::span<const std::uint8_t> bytes, std::uint64_t vaddr,
                                     std::span<const Relocation> relocations) {
  constexpr std::array<std::uint8_t, 7> kRest = {0xff, 0xff, 0xff, 0, 0, 1, sizeof(Word)};
  if (bytes.size() < 8 || (bytes[0] != 0xf0 && bytes[0] != 0xf1)) return std::nullopt;
  if (!std::ranges::equal(bytes.subspan(1, kRest.size()), kRest)) return std::nullopt;
  // Numbers of functions and files, text start, places of names, units, files, values, functions.
  std::array<std::uint64_t, 8> fields{};
  ByteReader reader(bytes.subspan(8));
  for (std::uint64_t& field : fields) {
    const auto word = reader.read<Word>();
    if (!word) return std::nullopt;
    field = *word;
  }
  if (fields[0] == 0 || fields[0] >= bytes.size() || fields[7] >= bytes.size()) return std::nullopt;
  const std::uint64_t start = vaddr + 8 + 2 * sizeof(Word);
  return TableHeader{.functions = fields[0],
                     .text_start = text_start_of(start, fields[2], relocations),
                     .table = vaddr + fields[7]};
}

std::optional<TableHeader> find_header(const ElfBytes& elf,
                                       std::span<const Relocation> relocations) {
  constexpr std::size_t kAlignment = 4;
  // Some linkers put read-only data into the text's segment.
  for (const image::Segment& segment : elf.elf().segments) {
    const auto bytes = elf.of(segment);
    for (std::size_t at = 0; at < bytes.size(); at += kAlignment) {
      if (bytes[at] != 0xf0 && bytes[at] != 0xf1) continue;
      const auto rest = bytes.subspan(at);
      const std::uint64_t vaddr = segment.vaddr + at;
      const auto found = elf.is_narrow() ? header_at<std::uint32_t>(rest, vaddr, relocations)
                                         : header_at<std::uint64_t>(rest, vaddr, relocations);
      if (found) return found;
    }
  }
  return std::nullopt;
}

}  // namespace

void add_go_functions(const ElfBytes& elf, std::span<const Relocation> relocations,
                      image::UnwindTables& tables) {
  const auto header = find_header(elf, relocations);
  if (!header) return;
  const auto bytes = elf.at(header->table);
  ByteReader table(bytes);
  constexpr std::size_t kEntry = 2 * sizeof(std::uint32_t);
  if (header->functions > bytes.size() / kEntry) return;
  for (std::uint64_t i = 0; i < header->functions; ++i) {
    const auto begin = table.read<std::uint32_t>();
    const auto place = table.read<std::uint32_t>();
    ByteReader ahead = table;
    const auto end = ahead.read<std::uint32_t>();
    if (!begin || !place || !end || *end <= *begin || *place >= bytes.size()) return;
    const image::FunctionRange function{header->text_start + *begin, header->text_start + *end};
    tables.functions.push_back(function);
    // _func: entry, name, size of the arguments, and where deferred calls are made.
    ByteReader about(bytes.subspan(*place));
    if (!about.take(3 * sizeof(std::uint32_t))) return;
    const std::uint32_t deferred = about.read<std::uint32_t>().value_or(0);
    if (deferred == 0 || deferred >= *end - *begin) continue;
    tables.landings.push_back({function.begin, function.end, function.begin + deferred});
  }
}

}  // namespace hodo::text
