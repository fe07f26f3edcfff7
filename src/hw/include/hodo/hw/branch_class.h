// The kinds of branches that the hardware's filters and type fields tell apart.
#pragma once

#include <cstdint>

namespace hodo::hw {

// Numbered as LBR_INFO.BR_TYPE of architectural LBR (SDM vol. 3, "Last Branch Records", BR_TYPE).
// `other` is every far transfer: SYSCALL, IRET, INT n, far jumps, and interrupts and exceptions,
// which the hardware records as branches, too. LBR_SELECT calls it FAR_BRANCH.
enum class BranchClass : std::uint8_t {
  cond = 0,
  ind_jmp = 1,
  rel_jmp = 2,
  ind_call = 3,
  rel_call = 4,
  ret = 5,
  other = 8,
};

}  // namespace hodo::hw
