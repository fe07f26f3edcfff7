// Where a file has what its loader and linker read and its own code does not go by.
#pragma once

#include <vector>

#include "function_map.h"
#include "hodo/text/elf_bytes.h"

namespace hodo::text {

// Of a 64-bit file: its headers, notes, and the dynamic section with the tables that it names. In
// no order; the file may be hostile, so they may overlap or lie anywhere.
std::vector<Function> loader_tables(const ElfBytes& elf);

}  // namespace hodo::text
