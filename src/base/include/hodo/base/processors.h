// How many threads can run at once.
#pragma once

#include <sched.h>

#include <algorithm>
#include <thread>

namespace hodo {

// Processors that this process may run on, at least 1. On one of them a second thread only takes
// the caches from the first, whatever others the machine has.
inline unsigned usable_processors() {
  cpu_set_t set;
  const bool known = ::sched_getaffinity(0, sizeof set, &set) == 0;  // not where 1024 are too few
  if (!known) return std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace hodo
