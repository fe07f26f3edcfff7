// The functions that .eh_frame describes. It survives stripping, since unwinding needs it.
#pragma once

#include <cstdint>
#include <vector>

#include "elf_file.h"
#include "hodo/image/elf.h"

namespace hodo::symbol {

struct UnwindRange {
  std::uint64_t start = 0;
  std::uint64_t size = 0;  // never 0
};

// In the file's order. What is damaged or written in an unusual way is left out.
std::vector<UnwindRange> unwind_ranges(const ElfFile& file, const image::Elf& elf);

}  // namespace hodo::symbol
