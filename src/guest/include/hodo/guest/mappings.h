// What a guest process has mapped, read from its kernel's memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/guest/kernel.h"
#include "hodo/guest/memory.h"

namespace hodo::guest {

struct GuestMapping {
  std::uint64_t start = 0, end = 0;
  std::uint64_t offset = 0;  // in the file
  std::string path;          // in the guest, of the file; "[vdso]"; empty: anonymous
  std::uint64_t inode = 0;
  std::uint32_t major = 0, minor = 0;
  bool executable = false;

  bool contains(std::uint64_t address) const { return address >= start && address < end; }
  bool operator==(const GuestMapping&) const = default;
};

// The mappings of `mm` (Task::mm) by address, at most 65,536. `memory` must be a kernel's address
// space. What cannot be read, because the kernel is just changing it or it is no mm_struct, is left
// out.
std::vector<GuestMapping> read_mappings(const VirtualMemory& memory, const Kernel& kernel,
                                        std::uint64_t mm);

// The path of a `struct file` in the guest; empty if it cannot be read.
std::string read_path(const VirtualMemory& memory, const Kernel& kernel, std::uint64_t file);

}  // namespace hodo::guest
