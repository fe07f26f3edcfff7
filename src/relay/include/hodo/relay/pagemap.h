// Entries of /proc/PID/pagemap (the kernel's Documentation/admin-guide/mm/pagemap.rst).
#pragma once

#include <cstdint>

#include "hodo/base/page.h"

namespace hodo::relay {

// Where the entry of the page at `address` lies in that file; 8 bytes.
constexpr std::uint64_t pagemap_offset(std::uint64_t address) {
  return address / kPage * sizeof(std::uint64_t);
}

// In memory, and not a copy that the process has written to.
constexpr bool is_page_of_file(std::uint64_t entry) {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
  constexpr std::uint64_t kOfFile = std::uint64_t{1} << 61;
  return (entry & kPresent) != 0 && (entry & kOfFile) != 0;
}

}  // namespace hodo::relay
