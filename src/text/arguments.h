// Arguments in general registers at both ends of a call: which a function reads for certain, and
// which a call cannot have set.
//
// Source: x86-64 psABI, "Parameter Passing" and "Register Usage".
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "function_map.h"
#include "hodo/text/module.h"
#include "text_map.h"

namespace hodo::text {

inline constexpr std::array<std::uint8_t, kRegisterArguments> kArgumentRegisters = {7, 6, 2,
                                                                                    1, 8, 9};

// Of 64-bit code. What lies at the end of a path that is not followed (another call, a jump
// backwards or out of the function), may read nothing.
ArgumentsRead arguments_read(const TextMap& text, const Function& function);

// Of a call or jump. `parts`: of the function that it is in, all that jump into each other's
// middle. `leaves`: whether the call there is of a function of another file, by the names of the
// linkage, which changes all registers that it may.
ArgumentsSet arguments_set(const TextMap& text, std::span<const Function> parts, std::uint64_t call,
                           const std::function<bool(std::uint64_t)>& leaves);

}  // namespace hodo::text
