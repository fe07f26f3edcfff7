#include <algorithm>
#include <cstring>

#include "hodo/base/page.h"
#include "hodo/guest/memory.h"
#include "paging_entry.h"

namespace hodo::guest {
namespace {

using namespace paging_entry;

constexpr unsigned kIndexBits = 9;

constexpr std::size_t kPageBytes = 1 << kPageBits;

bool canonical(std::uint64_t address, unsigned levels) {
  const unsigned unused = 64 - (kPageBits + levels * kIndexBits);
  const auto extended = static_cast<std::int64_t>(address << unused) >> unused;
  return static_cast<std::uint64_t>(extended) == address;
}

}  // namespace

std::optional<Translation> translate(const PhysicalMemory& memory, const Paging& paging,
                                     std::uint64_t address) {
  const unsigned levels = paging.five_levels ? 5 : 4;
  if (!canonical(address, levels)) return std::nullopt;
  std::uint64_t table = paging.cr3 & kAddressBits;
  for (unsigned level = levels; level > 0; --level) {
    const unsigned shift = kPageBits + (level - 1) * kIndexBits;
    const std::uint64_t index = address >> shift & ((1 << kIndexBits) - 1);
    std::uint64_t entry = 0;
    std::span bytes(reinterpret_cast<std::uint8_t*>(&entry), sizeof(entry));
    if (!memory.read(table + index * sizeof(entry), bytes)) return std::nullopt;
    if ((entry & kPresent) == 0) return std::nullopt;
    if (level == 1 || ((entry & kLarge) != 0 && level <= 3)) {
      const std::uint64_t size = std::uint64_t{1} << shift;
      return Translation{(entry & kAddressBits & ~(size - 1)) + (address & (size - 1)), size};
    }
    table = entry & kAddressBits;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> VirtualMemory::physical_address(std::uint64_t address) const {
  const auto found = translate(memory_, paging_, address);
  return found ? std::optional(found->physical) : std::nullopt;
}

bool VirtualMemory::read(std::uint64_t address, std::span<std::uint8_t> out) const {
  while (!out.empty()) {
    const auto found = translate(memory_, paging_, address);
    if (!found) return false;
    const std::uint64_t room = found->page_size - (address & (found->page_size - 1));
    const std::size_t size = std::min<std::uint64_t>(room, out.size());
    if (!memory_.read(found->physical, out.first(size))) return false;
    out = out.subspan(size);
    address += size;
  }
  return true;
}

std::optional<std::string> VirtualMemory::read_string(std::uint64_t address,
                                                      std::size_t limit) const {
  std::string text;
  while (text.size() < limit) {
    std::uint8_t part[64];
    // Not across a page's end, behind which nothing may be mapped.
    const std::size_t to_page_end = kPageBytes - (address & (kPageBytes - 1));
    const std::size_t size = std::min({sizeof(part), limit - text.size(), to_page_end});
    if (!read(address, std::span(part).first(size))) return std::nullopt;
    const std::size_t length = strnlen(reinterpret_cast<const char*>(part), size);
    text.append(reinterpret_cast<const char*>(part), length);
    if (length < size) break;
    address += size;
  }
  return text;
}

}  // namespace hodo::guest
