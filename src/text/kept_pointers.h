// Pointers to sensitive functions (names.h) that a file holds in its data from when it is loaded.
#pragma once

#include <span>
#include <vector>

#include "function_map.h"
#include "hodo/text/elf_bytes.h"
#include "hodo/text/module.h"

namespace hodo::text {

std::vector<KeptPointer> kept_pointers(const ElfBytes& elf, std::span<const Relocation> relocations,
                                       std::span<const symbol::Symbol> symbols,
                                       const FunctionMap& functions);

}  // namespace hodo::text
