#include "go_tables.h"

#include <algorithm>
#include <array>
#include <optional>

#include "hodo/base/byte_reader.h"

namespace hodo::text {
namespace {

// The header, behind its first word: no padding, a quantum of one byte for x86, pointers of the
// file's size. Go 1.18 and 1.20 differ in the first word only, 1.26 leaves out the text's start.
struct TableHeader {
  std::uint64_t functions = 0;   // how many
  std::uint64_t text_start = 0;  // what their entries count from; 0: unknown
  std::uint64_t table = 0;       // address of (entry, place of the rest) of each
};

class GoTables {
 public:
  GoTables(const ElfBytes& elf, std::span<const Relocation> relocations)
      : elf_(elf), relocations_(relocations), word_(elf.is_narrow() ? 4 : 8) {}

  std::optional<TableHeader> find_header() const;

 private:
  // A pointer of the loaded file; 0 where there is none.
  std::uint64_t pointer_at(std::uint64_t place) const;
  std::optional<std::uint64_t> number_at(std::uint64_t place) const {
    if (elf_.is_narrow()) return elf_.read<std::uint32_t>(place);
    return elf_.read<std::uint64_t>(place);
  }
  std::optional<TableHeader> header_at(std::span<const std::uint8_t> bytes,
                                       std::uint64_t vaddr) const;
  std::uint64_t text_by_module(std::uint64_t header, std::uint64_t table) const;

  const ElfBytes& elf_;
  std::span<const Relocation> relocations_;
  std::uint64_t word_;
};

std::uint64_t GoTables::pointer_at(std::uint64_t place) const {
  const std::uint64_t value = number_at(place).value_or(0);
  if (value != 0) return value;
  const auto at = std::ranges::find(relocations_, place, &Relocation::place);
  return at == relocations_.end() ? 0 : at->addend;
}

std::optional<TableHeader> GoTables::header_at(std::span<const std::uint8_t> bytes,
                                               std::uint64_t vaddr) const {
  const std::array<std::uint8_t, 7> rest = {
      0xff, 0xff, 0xff, 0, 0, 1, static_cast<std::uint8_t>(word_)};
  if (bytes.size() < 8 || (bytes[0] != 0xf0 && bytes[0] != 0xf1)) return std::nullopt;
  if (!std::ranges::equal(bytes.subspan(1, rest.size()), rest)) return std::nullopt;
  // Numbers of functions and files, text start, places of names, units, files, values, functions.
  const std::uint64_t fields = vaddr + 8;
  const auto functions = number_at(fields);
  const auto place = number_at(fields + 7 * word_);
  if (!functions || !place) return std::nullopt;
  if (*functions == 0 || *functions >= bytes.size() || *place >= bytes.size()) return std::nullopt;
  const std::uint64_t table = vaddr + *place;
  std::uint64_t start = pointer_at(fields + 2 * word_);
  if (start == 0) start = text_by_module(vaddr, table);
  return TableHeader{.functions = *functions, .text_start = start, .table = table};
}

// What the runtime has of the program (moduledata) begins with the header's address; of its slices
// two begin with the functions, and behind those and two more addresses is the text's.
std::uint64_t GoTables::text_by_module(std::uint64_t header, std::uint64_t table) const {
  constexpr unsigned kFunctions = 16, kText = 22;  // words
  unsigned tries = 64;                             // each may look through all relocations
  const auto text_of = [&](std::uint64_t place) -> std::uint64_t {
    if (tries == 0) return 0;
    --tries;
    return pointer_at(place + kFunctions * word_) == table ? pointer_at(place + kText * word_) : 0;
  };
  for (const Relocation& relocation : relocations_) {
    if (relocation.addend != header) continue;
    if (const std::uint64_t text = text_of(relocation.place); text != 0) return text;
  }
  for (const image::Segment& segment : elf_.elf().segments) {
    const std::size_t size = elf_.of(segment).size();
    for (std::uint64_t at = 0; at < size; at += word_) {
      if (number_at(segment.vaddr + at) != header) continue;
      if (const std::uint64_t text = text_of(segment.vaddr + at); text != 0) return text;
    }
  }
  return 0;
}

// The first, whatever it lacks: what else looks like one might each cost a look through the file.
std::optional<TableHeader> GoTables::find_header() const {
  constexpr std::size_t kAlignment = 4;
  // Some linkers put read-only data into the text's segment.
  for (const image::Segment& segment : elf_.elf().segments) {
    const auto bytes = elf_.of(segment);
    for (std::size_t at = 0; at < bytes.size(); at += kAlignment) {
      if (bytes[at] != 0xf0 && bytes[at] != 0xf1) continue;
      const auto found = header_at(bytes.subspan(at), segment.vaddr + at);
      if (found) return found;
    }
  }
  return std::nullopt;
}

}  // namespace

void add_go_functions(const ElfBytes& elf, std::span<const Relocation> relocations,
                      image::UnwindTables& tables) {
  const auto header = GoTables(elf, relocations).find_header();
  if (!header || header->text_start == 0) return;
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
