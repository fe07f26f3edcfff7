// From the trace's clock to the one that people see.
#pragma once

#include <cstdint>

#include "hodo/perfdata/time_conversion.h"

namespace hodo::session {

// Nanoseconds of perf's clock for a Branch::time; the trace's own count where the recording relates
// the two in no way. 0, no time, stays 0. Keeps its last answer: branches come in runs of one time.
class Clock {
 public:
  Clock() { conversion_.valid = false; }
  explicit Clock(const perfdata::TimeConversion& conversion) : conversion_(conversion) {}

  bool known() const { return conversion_.valid; }

  std::uint64_t nanoseconds(std::uint64_t ticks) {
    if (ticks == 0) return 0;
    if (ticks == ticks_) return nanoseconds_;
    ticks_ = ticks;
    nanoseconds_ = known() ? conversion_.to_ns(ticks) : ticks;
    return nanoseconds_;
  }

 private:
  perfdata::TimeConversion conversion_;
  std::uint64_t ticks_ = 0;
  std::uint64_t nanoseconds_ = 0;
};

}  // namespace hodo::session
