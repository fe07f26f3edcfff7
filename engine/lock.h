// One lock for all that threads share: tables, arenas, signal actions. Held for translating only, a
// millionth of a second at a time, and never while code of the program runs.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>

#include <cstdint>

#include "sys.h"

namespace hodo::engine {

class Lock {
 public:
  void acquire() {
    std::uint32_t expected = 0;
    if (__atomic_compare_exchange_n(&word_, &expected, 1, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
      return;
    }
    while (__atomic_exchange_n(&word_, 2, __ATOMIC_ACQUIRE) != 0) {
      raw_syscall(SYS_futex, reinterpret_cast<long>(&word_), FUTEX_WAIT_PRIVATE, 2);
    }
  }
  void release() {
    if (__atomic_exchange_n(&word_, 0, __ATOMIC_RELEASE) == 2) {
      raw_syscall(SYS_futex, reinterpret_cast<long>(&word_), FUTEX_WAKE_PRIVATE, 1);
    }
  }

 private:
  std::uint32_t word_ = 0;  // 0 free, 1 held, 2 held and waited for
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
