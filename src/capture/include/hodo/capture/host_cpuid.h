// CPUID of the processor that runs this program.
#pragma once

#include "hodo/hw/cpuid.h"

namespace hodo::capture {

class HostCpuid final : public hw::Cpuid {
 public:
  hw::CpuidRegs leaf(std::uint32_t leaf, std::uint32_t subleaf = 0) const override;
};

}  // namespace hodo::capture
