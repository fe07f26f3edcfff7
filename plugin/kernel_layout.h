// What all 64-bit Linux kernels for x86 have in common.
#pragma once

#include <cstdint>

namespace hodo::plugin {

inline constexpr std::uint64_t kKernelHalf = 1ULL << 63;  // addresses from here on are the kernel's
inline constexpr std::uint64_t kKernelCs = 0x10;          // arch/x86/include/asm/segment.h

}  // namespace hodo::plugin
