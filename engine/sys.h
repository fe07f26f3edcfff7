// System calls without a C library: the engine lives in a process whose libraries are not its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hodo::engine {

// The kernel's answer: a value, or -errno.
inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

inline bool failed(long result) { return result < 0 && result >= -4095; }

// Writes `text` to standard error and ends the process: the engine has met what it cannot run.
[[noreturn]] void die(const char* text, std::uint64_t value = 0);

}  // namespace hodo::engine
