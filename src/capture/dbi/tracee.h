// A thread that is held with ptrace, and its process's memory.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hodo/relay/engine_start.h"

namespace hodo::capture {

// Called again and again while something is waited for that may in turn wait for the recorder.
using Meanwhile = std::function<void()>;

bool read_memory(pid_t pid, std::uint64_t from, void* to, std::size_t count);
bool write_memory(pid_t pid, std::uint64_t to, const void* from, std::size_t count);

// The threads of a process that have not ended; not those that the kernel has there for itself
// (io_uring, vhost).
std::vector<pid_t> threads_of(pid_t pid);
// The value of a line of /proc/PID/status; empty: there is none.
std::string status_line(pid_t pid, const char* name);
// Whether they have one memory. False also where the kernel does not tell; threads of the kernel,
// and those that have ended, have none, which is the same to it.
bool share_memory(pid_t pid, pid_t other);
// All other processes in its memory.
std::vector<pid_t> sharers_of_memory(pid_t pid);
// 0: it is not there.
pid_t parent_of(pid_t pid);
// Who traces it; 0: nobody, or it is not there.
pid_t tracer_of(pid_t pid);
// Nobody but root may look into what it does (prctl PR_SET_DUMPABLE, set-user-ID, capabilities, a
// program that its user may not read): then its files in /proc are root's.
bool is_not_dumpable(pid_t pid);
// Whether a signal waits for the thread which it does not block, and has a handler for.
bool has_signal(pid_t tid);

// Whether the process has a handler for it.
bool handles_signal(pid_t pid, int number);

std::optional<user_regs_struct> registers_of(pid_t tid);
bool set_registers(pid_t tid, const user_regs_struct& registers);
// Those that the engine has saved, of a thread that stands in no system call.
void load_native(user_regs_struct& registers, const relay::NativeThread& native);
std::optional<std::uint64_t> blocked_signals(pid_t tid);
bool block_signals(pid_t tid, std::uint64_t mask);

// Everything but what the engine's breakpoints and faults need.
inline constexpr std::uint64_t kAllButFaults =
    ~std::uint64_t{0x400004d8};  // SYS SEGV FPE BUS TRAP ILL

// What the thread has of Syscall User Dispatch, and it turned off; nothing before Linux 6.4, which
// cannot tell.
relay::UserDispatch take_dispatch(pid_t tid);
// As it was, once the thread makes no more system calls that are not its own.
void give_dispatch(pid_t pid, pid_t tid, const relay::UserDispatch& dispatch);

// Whether a stop has interrupted a system call: what the kernel does with it next, as an
// ERESTART... of include/linux/errno.h; 0: it has not.
int interrupted_call(const user_regs_struct& registers);

// Whether such a signal waits for the thread, which is held, alone.
bool has_waiting(pid_t tid, const std::function<bool(const siginfo_t&)>& is_it);

// Whether a signal waits that the thread has raised itself (a fault, a breakpoint, a filter's
// SIGSYS). It is about registers that are still the thread's: it comes before all else, at a stop
// of its own, when the thread goes on (dequeue_synchronous_signal() in kernel/signal.c).
bool is_to_be_told(pid_t tid);

// Where nothing but being stopped made a call fail with EINTR (signal(7)), it counts as
// interrupted.
void undo_interruption(pid_t tid);

// What a thread stops for in front of a system call and behind it (PTRACE_O_TRACESYSGOOD).
inline constexpr int kSyscallStop = SIGTRAP | 0x80;

// Whether there is a wait status of this thread.
struct Waited {
  enum State : std::uint8_t { nothing, status_taken, gone };
  State state = nothing;
  int status = 0;
};
Waited look_for(pid_t tid);

// The same without taking it.
enum class Peeked : std::uint8_t { nothing, stopped, ended, gone };
Peeked peek(pid_t tid);

// Between two looks: soon again, then after some time, and meanwhile what there is to do.
class Patience {
 public:
  explicit Patience(const Meanwhile& meanwhile) : meanwhile_(meanwhile) {}
  void wait();

 private:
  const Meanwhile& meanwhile_;
  unsigned tries_ = 0;
};

// The next wait status of this thread; nullopt: it is not there.
std::optional<int> wait_for(pid_t tid, const Meanwhile& meanwhile);
// Lets it run until it stands at `rip` behind a breakpoint. Other signals come to it afterwards.
// False: it has ended.
bool run_to(pid_t tid, std::uint64_t rip, const Meanwhile& meanwhile);
// The kernel's answer to a system call, made at `instruction`; nullopt: the thread has ended. Its
// registers are not restored.
std::optional<long> make_call(pid_t tid, std::uint64_t instruction, long number,
                              std::array<std::uint64_t, 6> arguments);
// Whether the thread runs when it is let: in a frozen control group (cgroup v2) it can be held, and
// does nothing. Makes a system call, at `instruction`, that changes nothing; its registers are not
// restored. Nullopt: it has ended.
std::optional<bool> comes_to_run(pid_t tid, std::uint64_t instruction, const Meanwhile& meanwhile);
// From one system call to the next stop, before or behind it. False: it has ended.
bool to_next_call(pid_t tid);

// The address of a SYSCALL instruction that is not the engine's; 0: there is none.
std::uint64_t find_syscall(pid_t pid);

// While a program stands still for its recorder, that goes first, where it has the right to
// (CAP_SYS_NICE).
class Urgent {
 public:
  Urgent();
  ~Urgent();
  Urgent(const Urgent&) = delete;
  Urgent& operator=(const Urgent&) = delete;

 private:
  int policy_ = 0, priority_ = 0;
};

// Threads held so that none of their process runs. System calls that fail with EINTR by being
// stopped alone (signal(7)) count as interrupted.
class HeldThreads {
 public:
  // Holds all that there are, also those that come meanwhile; tries again for some seconds where
  // one is in a system call that cannot be interrupted, while the others go on. 0, or the errno
  // with which one could not be held, EBUSY: one did not stop. Then nobody is held.
  int hold(pid_t pid, const Meanwhile& meanwhile);
  const std::vector<pid_t>& tids() const { return tids_; }
  void forget(pid_t tid) { std::erase(tids_, tid); }
  void let_go();
  // The caller holds those in tids() from here on.
  void hand_over();

 private:
  int hold_some(const std::vector<pid_t>& fresh);
  bool stop_all(const Meanwhile& meanwhile);
  std::vector<pid_t> tids_;     // that stand still
  std::vector<pid_t> running_;  // that were asked to
  std::vector<pid_t> others_;   // of the caller
};

}  // namespace hodo::capture
