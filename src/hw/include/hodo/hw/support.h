// Can this processor record branches in a given way, and if not, why? The processor's side of the
// answer only: what an operating system allows is not known here.
#pragma once

#include <cstdint>
#include <string>

#include "hodo/hw/features.h"

namespace hodo::hw {

enum class Obstacle : std::uint8_t {
  none,
  not_made,      // no processor of this kind has it
  hidden,        // the hypervisor does not pass it on
  switched_off,  // IA32_MISC_ENABLE says so: firmware, or the hypervisor
  unknown,       // the processor is newer than the tables here, or does not say
};

struct Support {
  Obstacle obstacle = Obstacle::none;
  std::string why;  // a sentence without a full stop; empty if there is no obstacle

  explicit operator bool() const { return obstacle == Obstacle::none; }
};

Support pt_support(const BranchFeatures& f);
Support bts_support(const BranchFeatures& f);
Support pebs_support(const BranchFeatures& f);
Support lbr_support(const BranchFeatures& f);
// Single-stepping by branches.
Support btf_support(const BranchFeatures& f);

}  // namespace hodo::hw
