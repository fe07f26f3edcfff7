// What the recorder writes into the engine's image before it starts it: in hodo_start_info.
#pragma once

#include <array>
#include <cstdint>

#include "hodo/relay/protocol.h"

namespace hodo::relay {

// Nanoseconds of CLOCK_MONOTONIC from the processor's time-stamp counter.
struct TscClock {
  static constexpr unsigned kShift = 32;
  std::uint64_t ns_per_tick = 0;  // << kShift; 0: the counter is not steady, the kernel is asked
};

// What a thread asked for with PR_SET_SYSCALL_USER_DISPATCH, as the kernel keeps it: struct
// ptrace_sud_config, where a range whose calls alone are dispatched is the one around it.
struct UserDispatch {
  std::uint64_t mode = 0;      // PR_SYS_DISPATCH_OFF, PR_SYS_DISPATCH_ON
  std::uint64_t selector = 0;  // address of the byte that says what becomes of others; 0: all
  std::uint64_t start = 0, bytes = 0;  // system calls made from there go through
};

// What the kernel says within of a call that a signal or a stop has interrupted: that it is made
// again (include/linux/errno.h), with SA_RESTART, always, where no handler is called;
// kRestartBlock: it goes on with what is left of its time, which the kernel keeps, of one call of
// each thread.
inline constexpr std::int32_t kRestartSys = 512, kRestartAlways = 513, kRestartNoHandler = 514,
                              kRestartBlock = 516;

// A thread of a process that runs: as it goes on, or as it is to go on when it is let go.
struct NativeThread {
  std::uint64_t rax = 0, rcx = 0, rdx = 0, rbx = 0, rsp = 0, rbp = 0, rsi = 0, rdi = 0;
  std::uint64_t r8 = 0, r9 = 0, r10 = 0, r11 = 0, r12 = 0, r13 = 0, r14 = 0, r15 = 0;
  std::uint64_t rip = 0, flags = 0;
  std::uint64_t mask = 0;  // signals that it blocks
  // rseq(2) as it was registered; 0: it was not.
  std::uint64_t rseq = 0;
  std::uint32_t rseq_size = 0, rseq_signature = 0;
  std::int32_t tid = 0;
  // It stands at a system call that it has been in: one of the above. 0: it does not.
  std::int32_t restart = 0;
  std::uint32_t recorded = 1;
  std::uint32_t saved = 0;  // the registers are those with which the program goes on, or ended
  UserDispatch dispatch;
  std::uint64_t area = 0;   // the engine's ThreadArea
  std::uint64_t stack = 0;  // and the top of its stack there
  // Addresses of siginfo_t: of signals that wait while the thread blocks them, which the recorder
  // has it send to itself once it does so in the kernel.
  std::array<std::uint64_t, 6> held = {};
};

// The value of a SIGTRAP, queued by the recorder, that a thread is let go at (engine/leave.h).
inline constexpr std::uint64_t kLeaveSignal = 0x6f67206f6c746574;

// Of a process whose engine has met what it cannot go on with, as broken code of its own.
inline constexpr int kEngineFailed = 70;

struct StartInfo {
  std::uint64_t entry = 0;     // of the program, or of its interpreter
  std::uint64_t rtit_ctl = 0;  // IA32_RTIT_CTL, where there is no recorder
  TscClock clock;
  Key key = {};
  std::uint64_t cache_bytes = 0;  // for its code and what goes with it; 0: the usual
  bool loop_is_fast = false;      // LOOP takes the processor no longer than JRCXZ
  bool has_keys = false;          // RDPKRU and WRPKRU are there
  // The recorder's abstract socket, without the 0 in front; empty: there is no recorder.
  std::array<char, 64> socket = {};
  Line line;              // that the program before had kept
  char output[256] = {};  // without a recorder: a file for the packets, or empty
  // Of a process that runs already: NativeThreads, in memory that the engine gives back, and the
  // recorder's Settings behind them.
  std::uint64_t threads = 0, thread_count = 0, threads_bytes = 0, settings = 0;
};

}  // namespace hodo::relay
