#include "clock.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>

#include "hodo/relay/engine_start.h"
#include "hodo/unit/digest.h"
#include "sys.h"
#include "thread_area.h"
#include "threads.h"

namespace hodo::engine {

extern "C" relay::StartInfo hodo_start_info;

namespace {

// How long the counter is believed before the kernel is asked again: the kernel's clock is steered.
constexpr std::uint64_t kBelieved = 20'000'000;  // ns

std::uint64_t counter() {
  std::uint32_t low = 0, high = 0;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return std::uint64_t{high} << 32 | low;
}

std::uint64_t ask_kernel() {
  timespec t{};
  raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&t));
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

void look_for_counter() {
  int how = 0;
  raw_syscall(SYS_prctl, PR_GET_TSC, reinterpret_cast<long>(&how));
  if (how == PR_TSC_SIGSEGV) hodo_start_info.clock.ns_per_tick = 0;
}

std::uint64_t now() {
  ClockState& state = current_area().clock;
  const std::uint64_t rate = hodo_start_info.clock.ns_per_tick;
  std::uint64_t time = 0;
  if (rate == 0) {
    time = ask_kernel();
  } else {
    const std::uint64_t ticks = counter();
    const auto passed = static_cast<std::uint64_t>(unit::Product{ticks - state.ticks} * rate >>
                                                   relay::TscClock::kShift);
    time = state.ns + passed;
    if (state.ns == 0 || passed > kBelieved) {
      state.ticks = ticks;
      state.ns = time = ask_kernel();
    }
  }
  state.last = std::max(state.last, time);
  return state.last;
}

}  // namespace hodo::engine
