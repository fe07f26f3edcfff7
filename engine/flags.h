// Where the status flags are free to be changed.
#pragma once

#include <cstdint>

namespace hodo::engine {

// The program's code at `ip` replaces every status flag before it reads one. False where that is
// not sure.
bool flags_dead(std::uint64_t ip);

}  // namespace hodo::engine
