#include "ptrace_call.h"

#include <sys/ptrace.h>
#include <time.h>

#include "channel.h"
#include "sys.h"
#include "threads.h"
#include "timed_wait.h"

namespace hodo::engine {
namespace {

// Until the recorder's signal is here, some seconds at most: it may find that it cannot.
void await_letting_go(const ThreadArea& area) {
  constexpr int kTries = 5'000;
  constexpr timespec kBetween{.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int i = 0; i < kTries && __atomic_load_n(&area.waits, __ATOMIC_ACQUIRE) == 0; ++i) {
    sleep_for(kBetween);
  }
}

}  // namespace

void prepare_ptrace(const ThreadArea& area) {
  const Registers& r = area.registers;
  const auto tid = static_cast<std::int32_t>(r.rsi);
  switch (r.rdi) {
    case PTRACE_ATTACH:
    case PTRACE_SEIZE:
      // Who runs in this memory cannot be let go alone.
      if (!runs_in_this_memory(tid)) have_let_go(tid);
      return;
    case PTRACE_TRACEME:
      if (!shares_memory(area) && have_let_go(0)) await_letting_go(area);
      return;
    default:
      return;
  }
}

}  // namespace hodo::engine
