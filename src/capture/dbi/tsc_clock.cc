#include "tsc_clock.h"

#include <time.h>
#include <x86intrin.h>

#include <cstdint>

#include "hodo/relay/clock.h"
#include "processor_flag.h"

namespace hodo::capture {
namespace {

struct Moment {
  std::uint64_t ticks = 0, ns = 0;
};

// The reading of the kernel's clock that took least.
Moment look() {
  Moment best;
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t before = __rdtsc();
    const std::uint64_t ns = relay::now();
    const std::uint64_t took = __rdtsc() - before;
    if (took >= least) continue;
    least = took;
    best = {before + took / 2, ns};
  }
  return best;
}

}  // namespace

bool has_steady_tsc() { return processor_has("constant_tsc") && processor_has("nonstop_tsc"); }

relay::TscClock measure_tsc() {
  const Moment first = look();
  const timespec pause{.tv_sec = 0, .tv_nsec = 2'000'000};
  nanosleep(&pause, nullptr);
  const Moment last = look();
  if (last.ticks <= first.ticks || last.ns <= first.ns) return {};
  const double rate =
      static_cast<double>(last.ns - first.ns) / static_cast<double>(last.ticks - first.ticks);
  return {.ns_per_tick =
              static_cast<std::uint64_t>(rate * double(1ULL << relay::TscClock::kShift))};
}

}  // namespace hodo::capture
