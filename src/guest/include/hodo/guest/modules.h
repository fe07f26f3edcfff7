// The kernel's loaded modules, read from its memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/guest/kernel.h"
#include "hodo/guest/memory.h"

namespace hodo::guest {

struct KernelModule {
  std::string name;
  std::uint64_t text = 0;             // where its code lies
  std::uint64_t size = 0;             // bytes of code
  std::vector<KernelSymbol> symbols;  // of its code, in no order

  bool contains(std::uint64_t address) const { return address - text < size; }
};

// Those in the kernel's own list (`modules`), newest first, at most 1024; empty where the kernel's
// types do not tell how. Code that only runs while a module is loaded is not theirs.
// `memory` must be a kernel's address space. What cannot be read is left out.
std::vector<KernelModule> read_modules(const VirtualMemory& memory, const Kernel& kernel);

}  // namespace hodo::guest
