// CPUID's answers as text, the way `cpuid -r` (Debian's package cpuid) prints them:
//
//   CPU 0:
//      0x00000000 0x00: eax=0x0000000d ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69
//      0x00000001 0x00: eax=0x000306c3 ...
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "hodo/base/result.h"
#include "hodo/hw/cpuid.h"

namespace hodo::hw {

class CpuidDump final : public Cpuid {
 public:
  // Takes the first processor of the text; lines that are empty or begin with # say nothing.
  // Errors: malformed (a line that is none of the above, with its number; no leaf 0 or 1, or
  // not all that others promise; more leaves than any processor has).
  static Result<CpuidDump> parse(std::string_view text);

  CpuidRegs leaf(std::uint32_t leaf, std::uint32_t subleaf = 0) const override;

 private:
  static constexpr std::size_t kMaxLeaves = 4096;

  Status add(std::string_view line);
  Status check_complete() const;

  std::map<std::pair<std::uint32_t, std::uint32_t>, CpuidRegs> leaves_;
};

}  // namespace hodo::hw
