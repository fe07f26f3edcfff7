// How position-independent code of i386 finds its own data: it asks where it is by a call, whose
// return address it reads, and adds the distance; mostly of the GOT, from which the rest counts.
#pragma once

#include <cstdint>
#include <optional>

#include "elf_bytes.h"
#include "text_map.h"

namespace hodo::check {

// The address that is computed so behind the call at `call`; nullopt: that asks for nothing.
std::optional<std::uint64_t> asked_address(const TextMap& text, std::uint64_t call);

// Of the GOT: by DT_PLTGOT; a file without a dynamic section says it by its code alone. nullopt:
// neither.
std::optional<std::uint64_t> got_address(const ElfBytes& elf, const TextMap& text);

}  // namespace hodo::check
