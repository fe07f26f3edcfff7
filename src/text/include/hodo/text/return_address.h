// Calls with data behind them: the function that is called takes its return address for an argument
// and goes on behind the data.
#pragma once

#include <cstdint>

#include "hodo/text/module.h"

namespace hodo::text {

// Whether the function that begins there takes its return address off the stack, or writes in its
// place, before it calls, returns or jumps through a pointer.
bool takes_return_address(const Module& module, std::uint64_t start);

}  // namespace hodo::text
