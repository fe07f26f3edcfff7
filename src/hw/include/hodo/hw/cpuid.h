// What CPUID says, as far as branch tracing needs it (SDM vol. 2, "CPUID"; AMD APM vol. 3,
// appendix E).
#pragma once

#include <cstdint>

namespace hodo::hw {

// The four registers that CPUID returns.
struct CpuidRegs {
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
};

// Answers of one logical processor: the one that runs, or one whose answers were written down.
class Cpuid {
 public:
  virtual ~Cpuid() = default;
  // All zero for a leaf that is not there.
  virtual CpuidRegs leaf(std::uint32_t leaf, std::uint32_t subleaf = 0) const = 0;
};

enum class Vendor : std::uint8_t { intel, amd, other };

// Family and model as displayed: extended fields added in (SDM, CPUID.1:EAX).
struct Signature {
  Vendor vendor = Vendor::other;
  std::uint16_t family = 0;
  std::uint16_t model = 0;
  std::uint8_t stepping = 0;

  friend bool operator==(const Signature&, const Signature&) = default;
};

// Intel's family 6 or a younger one: families above 15 (18 is Nova Lake) go on where 6 ended.
bool is_p6_or_later(const Signature& processor);

// The family, model and stepping in CPUID.1:EAX.
Signature decode_signature(Vendor vendor, std::uint32_t leaf1_eax);

}  // namespace hodo::hw
