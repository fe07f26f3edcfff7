// Where the target of an indirect branch comes from, as the instruction says.
#pragma once

#include <cstdint>
#include <optional>

#include "hodo/isa/moves.h"
#include "text_map.h"

namespace hodo::text {

// Of an indirect call or jump there; of a direct branch to a retpoline that leads where a register
// says, that register; of a return whose target is what the instruction before pushed or stored,
// that. nullopt: it is nothing of the kind. In 64-bit code.
std::optional<isa::Pointer> branch_pointer(const TextMap& text, std::uint64_t vaddr);

}  // namespace hodo::text
