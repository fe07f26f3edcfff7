// The code that GCC puts on the stack where the address of a nested function is taken, and libffi
// where that of a closure is.
#pragma once

#include <array>
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

inline constexpr std::size_t kLongestClosure = 17;
// Where its jump can be, from its beginning.
inline constexpr std::array<std::size_t, 2> kClosureJumps = {7, 11};

// Whether the code is what libffi makes for a closure: it leads to where a word behind it says, one
// of libffi's functions, with its own address in R10 (trampoline in ffi_prep_closure_loc of
// src/x86/ffi64.c).
bool is_closure(std::span<const std::uint8_t> code);

}  // namespace hodo::text
