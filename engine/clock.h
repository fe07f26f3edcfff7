// The time that the engine stamps packets and records with.
#pragma once

#include <cstdint>

namespace hodo::engine {

// CLOCK_MONOTONIC in nanoseconds, by the processor's time-stamp counter where that is steady. Never
// goes back in one thread.
std::uint64_t now();
// The process may have been forbidden to read that counter (prctl, PR_SET_TSC): then the kernel is
// asked.
void look_for_counter();

}  // namespace hodo::engine
