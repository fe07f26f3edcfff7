// The code that GCC puts on the stack where the address of a nested function is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "hodo/isa/insn.h"

namespace hodo::text {

inline constexpr std::size_t kLongestTrampoline = 27;

// Where the trampoline at the beginning of `code`, which lies at `address`, leads; nullopt: there
// is none.
std::optional<std::uint64_t> trampoline_target(std::span<const std::uint8_t> code,
                                               std::uint64_t address, isa::Mode mode);

}  // namespace hodo::text
