#include "alternatives.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace hodo::kernelcheck {
namespace {

// struct alt_instr: s32 instr_offset, s32 repl_offset, what the processor must have, u8 instrlen,
// u8 replacementlen. Offsets are from where they stand.
struct AltLayout {
  std::size_t bytes;
  std::size_t length_at;  // of instrlen
};
constexpr AltLayout kWithoutFlags{12, 10}, kWithFlags{14, 12};

std::vector<Alternative> read(std::span<const std::uint8_t> table, std::uint64_t address,
                              const AltLayout& layout) {
  std::vector<Alternative> out;
  for (std::size_t at = 0; table.size() - at >= layout.bytes; at += layout.bytes) {
    std::int32_t offset = 0;
    std::memcpy(&offset, table.data() + at, sizeof(offset));
    out.push_back({.address = address + at + static_cast<std::uint64_t>(std::int64_t{offset}),
                   .size = table[at + layout.length_at]});
  }
  return out;
}

}  // namespace

std::vector<Alternative> alternatives(std::span<const std::uint8_t> table, std::uint64_t address,
                                      const std::function<bool(std::uint64_t)>& is_code) {
  const auto in_code = [&](const std::vector<Alternative>& sites) {
    return std::ranges::count_if(sites,
                                 [&](const Alternative& site) { return is_code(site.address); });
  };
  auto with = read(table, address, kWithFlags), without = read(table, address, kWithoutFlags);
  const auto good_with = in_code(with), good_without = in_code(without);
  if (good_with == 0 && good_without == 0) return {};
  return good_with > good_without ? std::move(with) : std::move(without);
}

}  // namespace hodo::kernelcheck
