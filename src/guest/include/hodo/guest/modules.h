// The kernel's loaded modules, read from its memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/guest/kernel.h"
#include "hodo/guest/memory.h"

namespace hodo::guest {

struct KernelModule {
  struct Code {
    std::uint64_t start = 0, size = 0;  // bytes
    std::vector<KernelSymbol> symbols;  // in no order
    bool contains(std::uint64_t place) const { return place - start < size; }
  };
  std::uint64_t address = 0;  // of its struct module
  std::string name;
  Code text;
  Code init;  // what only runs while it is loaded, and is freed then

  bool contains(std::uint64_t place) const { return text.contains(place) || init.contains(place); }
};

// Those in the kernel's own list (`modules`), newest first, at most 1024; empty where the kernel's
// types do not tell how. `memory` must be a kernel's address space. What cannot be read is left
// out.
std::vector<KernelModule> read_modules(const VirtualMemory& memory, const Kernel& kernel);

// Is `module`, as it was read before, still there with the same code?
bool still_loaded(const VirtualMemory& memory, const Kernel& kernel, const KernelModule& module);

}  // namespace hodo::guest
