#include "timed_wait.h"

#include <sys/syscall.h>

#include <cerrno>

#include "sys.h"
#include "thread_area.h"
#include "threads.h"

namespace hodo::engine {
namespace {

// Whether the kernel keeps a call of the program's that attaching has found the thread in, or that
// it is let go in (restart_block): the place of that takes a wait that is interrupted, as by
// SIGSTOP: poll, nanosleep, futex with a time-out. Of ppoll nothing is kept.
bool kernel_keeps_call() { return current_area().native_thread.restart == relay::kRestartBlock; }

}  // namespace

long wait_on_word(const std::uint32_t* word, std::uint32_t value, int how, const timespec& most) {
  if (!kernel_keeps_call()) {
    return raw_syscall(SYS_futex, reinterpret_cast<long>(word), how, value,
                       reinterpret_cast<long>(&most));
  }
  constexpr timespec kStep{.tv_sec = 0, .tv_nsec = 1'000'000};
  const long steps = most.tv_sec * 1000 + most.tv_nsec / kStep.tv_nsec;
  for (long i = 0; i < steps; ++i) {
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) return -EAGAIN;
    sleep_for(kStep);
  }
  return -ETIMEDOUT;
}

void sleep_for(const timespec& time) {
  constexpr long kMaskBytes = 8;
  timespec left = time;
  raw_syscall(SYS_ppoll, 0, 0, reinterpret_cast<long>(&left), 0, kMaskBytes);
}

}  // namespace hodo::engine
