// CLOCK_MONOTONIC from the processor's time-stamp counter.
#pragma once

#include "hodo/relay/engine_start.h"

namespace hodo::capture {

// How fast the counter is, by both clocks over some milliseconds. To be asked only where the
// counter neither stops nor changes its pace.
relay::TscClock measure_tsc();

}  // namespace hodo::capture
