#include "hodo/guest/code_ranges.h"

#include <array>
#include <cstring>

#include "paging_entry.h"

namespace hodo::guest {
namespace {

using namespace paging_entry;

constexpr std::size_t kEntries = 512;
constexpr std::size_t kMostTables = 65'536, kMostRanges = 4096;

struct Table {
  std::uint64_t physical;
  std::uint64_t start;  // first linear address that it translates
  unsigned level;       // 1: of pages
};

std::uint64_t span_of(unsigned level) { return std::uint64_t{4096} << 9 * (level - 1); }

std::uint64_t sign_extended(std::uint64_t address, unsigned levels) {
  const unsigned unused = 64 - (12 + 9 * levels);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(address << unused) >> unused);
}

void add(std::vector<CodeRange>& ranges, std::uint64_t start, std::uint64_t end) {
  if (!ranges.empty() && ranges.back().end == start) {
    ranges.back().end = end;
  } else {
    ranges.push_back({start, end});
  }
}

}  // namespace

std::vector<CodeRange> user_code_ranges(const PhysicalMemory& memory, const Paging& paging) {
  const unsigned levels = paging.five_levels ? 5 : 4;
  std::vector<CodeRange> out;
  // Walked in the order of addresses: a table's children wait in reverse.
  std::vector<Table> waiting = {{paging.cr3 & kAddressBits, 0, levels}};
  for (std::size_t visited = 0; !waiting.empty() && visited < kMostTables; ++visited) {
    const Table table = waiting.back();
    waiting.pop_back();
    std::array<std::uint64_t, kEntries> entries{};
    const std::span bytes(reinterpret_cast<std::uint8_t*>(entries.data()), sizeof(entries));
    if (!memory.read(table.physical, bytes)) continue;
    std::vector<Table> children;
    for (std::size_t i = 0; i < kEntries && out.size() < kMostRanges; ++i) {
      const std::uint64_t entry = entries[i];
      const bool runs = (entry & (kPresent | kUser)) == (kPresent | kUser);
      if (!runs || (entry & kNoExecute) != 0) continue;
      const std::uint64_t size = span_of(table.level);
      const std::uint64_t start = sign_extended(table.start + i * size, levels);
      const bool page = table.level == 1 || (table.level <= 3 && (entry & kLarge) != 0);
      if (page) {
        add(out, start, start + size);
      } else {
        children.push_back({entry & kAddressBits, start, table.level - 1});
      }
    }
    waiting.insert(waiting.end(), children.rbegin(), children.rend());
  }
  return out;
}

}  // namespace hodo::guest
