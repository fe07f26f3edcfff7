// The clock that both ends of a channel stamp with.
#pragma once

#include <time.h>

#include <cstdint>

namespace hodo::relay {

// CLOCK_MONOTONIC in nanoseconds: the trace's TSC and the time of every record.
inline std::uint64_t now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace hodo::relay
