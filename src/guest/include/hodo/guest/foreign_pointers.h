// Where a kernel's read-only data leads out of the kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hodo/guest/kernel.h"
#include "hodo/guest/memory.h"

namespace hodo::guest {

struct ForeignPointer {
  std::uint64_t slot = 0;  // its address
  std::uint64_t target = 0;
  std::string name;  // of the slot, by the kernel's symbols: "simple_dir_operations+0x40"
};

// The 8-byte slots between __start_rodata and __end_rodata for whose content `is_foreign` says yes,
// at most 1024. That data was fixed when the kernel was built, or at the latest before it started
// init, so a pointer into a module that was loaded since was put there by nobody who is meant to.
// Reads some 10 MiB. Pages that cannot be read are left out.
std::vector<ForeignPointer> foreign_pointers(
    const VirtualMemory& memory, const Kernel& kernel,
    const std::function<bool(std::uint64_t target)>& is_foreign);

}  // namespace hodo::guest
