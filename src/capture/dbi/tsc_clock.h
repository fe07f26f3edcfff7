// CLOCK_MONOTONIC from the processor's time-stamp counter.
#pragma once

#include "hodo/relay/engine_start.h"

namespace hodo::capture {

// Whether the counter neither stops nor changes its pace.
bool has_steady_tsc();

// How fast the counter is, by both clocks over some milliseconds. To be asked only where that
// is steady.
relay::TscClock measure_tsc();

}  // namespace hodo::capture
