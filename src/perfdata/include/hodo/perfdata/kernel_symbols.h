// Names for kernel code that is in no file, or in none that this machine has (PERF_RECORD_KSYMBOL).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/perfdata/reader.h"

namespace hodo::perfdata {

struct KernelSymbol {
  std::uint64_t address = 0, size = 0;
  std::uint64_t from = 0;  // perf time, ns
  std::string name;        // of a module's function: "NAME [MODULE]"
};

// The most that are read of a file.
inline constexpr std::size_t kMostKernelSymbols = std::size_t{1} << 20;

// Those of a file, in file order; one pass over its records. Records that take a name away again
// are left out: what ran under it keeps it.
std::vector<KernelSymbol> read_kernel_symbols(const Reader& reader);

}  // namespace hodo::perfdata
