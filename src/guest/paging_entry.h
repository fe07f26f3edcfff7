// Bits of a paging-structure entry. SDM vol. 3, "Formats of CR3 and Paging-Structure Entries with
// 4-Level Paging and 5-Level Paging".
#pragma once

#include <cstdint>

namespace hodo::guest::paging_entry {

inline constexpr std::uint64_t kPresent = 1, kUser = 1 << 2, kNoExecute = 1ULL << 63;
// Only in the levels of 2 MiB and 1 GiB pages; above, it is reserved.
inline constexpr std::uint64_t kLarge = 1 << 7;
inline constexpr std::uint64_t kAddressBits = 0x000f'ffff'ffff'f000;  // also of CR3

}  // namespace hodo::guest::paging_entry
