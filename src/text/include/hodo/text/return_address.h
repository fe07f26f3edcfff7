// Calls with data behind them: the function that is called takes its return address for an argument
// and goes on behind the data.
#pragma once

#include <cstdint>
#include <span>

#include "hodo/text/module.h"

namespace hodo::text {

// POP REG; LFENCE; JMP REG, of 64-bit code: so clang returns with -mlvi-cfi, that nothing can come
// between the load of the return address and its use. The jump lies at most kBeforePoppedJump bytes
// behind the beginning.
inline constexpr std::size_t kBeforePoppedJump = 5;
inline constexpr std::size_t kLongestPoppedReturn = 8;
bool is_popped_return(std::span<const std::uint8_t> code);

// Whether the function that begins there takes its return address off the stack, or writes in its
// place, before it calls, returns (also by is_popped_return()) or jumps through a pointer.
bool takes_return_address(const Module& module, std::uint64_t start);

}  // namespace hodo::text
