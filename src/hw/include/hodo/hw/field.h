// Bit fields, the way the manuals draw them.
#pragma once

#include <cstdint>

namespace hodo::hw {

// A bit field of a register.
struct Field {
  unsigned low = 0;
  unsigned width = 1;

  constexpr std::uint64_t mask() const { return (~std::uint64_t{0} >> (64 - width)) << low; }
  constexpr std::uint64_t get(std::uint64_t reg) const { return (reg & mask()) >> low; }
  // `reg` with this field set to the low bits of `value`.
  constexpr std::uint64_t set(std::uint64_t reg, std::uint64_t value) const {
    return (reg & ~mask()) | ((value << low) & mask());
  }
};

}  // namespace hodo::hw
