// The kernel's symbol table as it lies in its own memory (kernel/kallsyms.c, scripts/kallsyms.c),
// found without any symbol: names are compressed with 256 tokens, and the token table has a shape
// that nothing else in a kernel has.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hodo/base/result.h"

namespace hodo::guest {

struct KernelSymbol {
  std::uint64_t address = 0;  // of a per-CPU variable: its offset in the per-CPU area
  char type = 0;              // as nm prints it
  std::string name;
};

// `image`: the kernel's memory from its first byte on. Knows tables with offsets relative to a base
// (x86-64 kernels, 4.6 and later) in which per-CPU symbols are absolute. Addresses are those at
// which the kernel runs. Errors: not_found (no table), malformed (with the offset in the image).
Result<std::vector<KernelSymbol>> read_kallsyms(std::span<const std::uint8_t> image);

}  // namespace hodo::guest
