#include "hodo/capture/host_cpuid.h"

#include <cpuid.h>

namespace hodo::capture {

hw::CpuidRegs HostCpuid::leaf(std::uint32_t leaf, std::uint32_t subleaf) const {
  hw::CpuidRegs out;
  // A leaf above the highest one would be answered with that one's values. The hypervisor's range
  // has a maximum of its own, which is only there if leaf 1 says that there is a hypervisor.
  constexpr std::uint32_t kRange = 0xffff0000;
  if (leaf > (leaf & kRange)) {
    if (this->leaf(leaf & kRange).eax < leaf) return out;
  }
  __cpuid_count(leaf, subleaf, out.eax, out.ebx, out.ecx, out.edx);
  return out;
}

}  // namespace hodo::capture
