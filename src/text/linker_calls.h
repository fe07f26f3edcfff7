// Which functions of a file the dynamic linker calls itself when it loads, relocates or leaves the
// file, as the file's tables for it say.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hodo/text/elf_bytes.h"

namespace hodo::text {

// DT_INIT, DT_FINI, the arrays of both, and what chooses functions (IRELATIVE); ascending.
std::vector<std::uint64_t> linker_calls(const ElfBytes& elf,
                                        std::span<const Relocation> relocations);

}  // namespace hodo::text
