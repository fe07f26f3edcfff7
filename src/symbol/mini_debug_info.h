// Symbols that a distribution leaves in a stripped program, packed: .gnu_debugdata, as Fedora has
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "elf_file.h"

namespace hodo::symbol {

// The ELF file in there, whose addresses are the program's; empty: none, or it is damaged or
// unpacks to more than 64 MiB.
std::vector<std::uint8_t> mini_debug_info(const ElfFile& file);

}  // namespace hodo::symbol
