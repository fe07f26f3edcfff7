// Functions that were compiled without optimisation: arguments go to the frame as they begin, and
// registers hold nothing from one statement to the next.
#pragma once

#include <cstdint>
#include <optional>

#include "function_map.h"
#include "text_map.h"

namespace hodo::text {

// Which arguments such a function puts into its frame (bit n: argument n), in 64-bit code; nullopt:
// it is none such for certain, or takes none.
std::optional<std::uint8_t> arguments_framed(const TextMap& text, const Function& function);

}  // namespace hodo::text
