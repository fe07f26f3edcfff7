// Converts perf's time, in nanoseconds, to ticks of the trace's clock.
#pragma once

#include <cstdint>

#include "hodo/perfdata/model.h"

namespace hodo::session {

// The trace time of a sideband event. 0 and "for ever" stay; where the recording relates the clocks
// in no way everything happens at 0, in the order in which it is told.
inline std::uint64_t ticks(const perfdata::TimeConversion& conversion, std::uint64_t nanoseconds) {
  if (nanoseconds == perfdata::kForever) return perfdata::kForever;
  if (nanoseconds == 0 || !conversion.valid) return 0;
  return conversion.to_tsc(nanoseconds);
}

}  // namespace hodo::session
