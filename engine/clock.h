#pragma once

#include <cstdint>

namespace hodo::engine {

// CLOCK_MONOTONIC in nanoseconds, by the processor's time-stamp counter where that is steady. Never
// goes back in one thread.
std::uint64_t now();

}  // namespace hodo::engine
