// Which compilation unit an address is of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace hodo::symbol {

struct UnitRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t unit = 0;  // offset of the unit's DIE
};

// `ranges` by start. nullopt: none has it.
std::optional<std::uint64_t> unit_at(std::span<const UnitRange> ranges, std::uint64_t vaddr);

}  // namespace hodo::symbol
