// One lock for all that threads share: tables, arenas, signal actions. Held for translating only, a
// millionth of a second at a time, and never while code of the program runs.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <cerrno>
#include <cstdint>

#include "sys.h"
#include "timed_wait.h"

namespace hodo::engine {

// Whether the thread whose block of memory this is has been killed; and with the lock in its place,
// which it has held: what it was changing is left alone from now on.
bool has_been_killed(std::uint64_t block);
void begin_anew_after_killed();

class Lock {
 public:
  // Whoever holds it may have been killed without its memory, which a child in vfork has as well.
  void acquire() {
    const std::uint32_t me = holder(__builtin_frame_address(0));
    std::uint32_t found = 0;
    if (take(found, me)) return;
    for (;;) {
      // Others may wait as well, so whoever has waited takes it as one that is waited for.
      if (found == 0) {
        if (take(found, me | kWaitedFor)) return;
      } else if ((found & kWaitedFor) != 0 || take(found, found | kWaitedFor)) {
        const timespec a_while{.tv_sec = 0, .tv_nsec = 50'000'000};
        found |= kWaitedFor;
        const long woken = wait_on_word(&word_, found, FUTEX_WAIT_PRIVATE, a_while);
        if (woken == -ETIMEDOUT && has_been_killed(block_of(found)) &&
            take(found, me | kWaitedFor)) {
          return begin_anew_after_killed();
        }
        found = __atomic_load_n(&word_, __ATOMIC_RELAXED);
      }
    }
  }
  void release() {
    if ((__atomic_exchange_n(&word_, 0, __ATOMIC_RELEASE) & kWaitedFor) != 0) {
      raw_syscall(SYS_futex, reinterpret_cast<long>(&word_), FUTEX_WAKE_PRIVATE, 1);
    }
  }
  // Whether it is held by the thread to which this block of memory belongs (ThreadArea::kBlock).
  bool is_held_from(const void* block) const {
    return (__atomic_load_n(&word_, __ATOMIC_ACQUIRE) & ~kWaitedFor) == holder(block);
  }

  static constexpr unsigned kBlockBits = 19;

 private:
  static constexpr std::uint32_t kWaitedFor = 1;

  static std::uint32_t holder(const void* stack) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(stack) >> kBlockBits) << 1;
  }
  static std::uint64_t block_of(std::uint32_t holder) {
    return std::uint64_t{holder >> 1} << kBlockBits;
  }
  // Else `found` is what it is.
  bool take(std::uint32_t& found, std::uint32_t to) {
    return __atomic_compare_exchange_n(&word_, &found, to, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
  }

  std::uint32_t word_ = 0;  // 0: free; else by the address of its stack who holds it
};

// Of what lies in memory.h and cache.h, and of the threads' list.
inline Lock engine_lock;

class Locked {
 public:
  Locked() { engine_lock.acquire(); }
  ~Locked() { engine_lock.release(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

}  // namespace hodo::engine
