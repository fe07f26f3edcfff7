// How position-independent code of i386 finds its own data.
//
// i386 cannot address memory relative to the instruction, as x86-64 can. Such code calls the next
// instruction, or a function that only reads its return address (__x86.get_pc_thunk.bx), and so has
// an address of its own text in a register. To that it adds the distance to the file's global
// offset table (GOT), and finds all other data at fixed distances from there.
#pragma once

#include <cstdint>
#include <optional>

#include "hodo/text/elf_bytes.h"
#include "text_map.h"

namespace hodo::text {

// The address that is computed so behind the call at `call`; nullopt: that asks for nothing.
std::optional<std::uint64_t> asked_address(const TextMap& text, std::uint64_t call);

// Of the GOT: by DT_PLTGOT; a file without a dynamic section says it by its code alone. nullopt:
// neither.
std::optional<std::uint64_t> got_address(const ElfBytes& elf, const TextMap& text);

}  // namespace hodo::text
