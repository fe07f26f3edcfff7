// Between the clock of a trace and that of perf.
#pragma once

#include <cstdint>

namespace hodo::perfdata {

// TSC ticks to perf time and back (struct perf_event_mmap_page: cap_user_time_zero).
struct TimeConversion {
  std::uint16_t shift = 0;
  std::uint32_t mult = 1;
  std::uint64_t zero = 0;
  bool valid = true;  // false: the file relates the two in no way
  std::uint64_t to_ns(std::uint64_t tsc) const;
  std::uint64_t to_tsc(std::uint64_t ns) const;
};

}  // namespace hodo::perfdata
