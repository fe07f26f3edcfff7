// Which of an address space's pages can be executed in user mode: what can be said of a process
// whose system is not known.
#pragma once

#include <cstdint>
#include <vector>

#include "hodo/guest/memory.h"

namespace hodo::guest {

struct CodeRange {
  std::uint64_t start = 0, end = 0;  // linear; end is behind the last byte
};

// Ranges of present pages that allow user mode and execution at every level (SDM vol. 3, "Access
// Rights"), by address; at most 4,096 ranges, from at most 65,536 page tables.
std::vector<CodeRange> user_code_ranges(const PhysicalMemory& memory, const Paging& paging);

}  // namespace hodo::guest
