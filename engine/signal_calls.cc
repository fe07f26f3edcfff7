#include "signal_calls.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include <cerrno>
#include <optional>

#include "code_32.h"
#include "glue.h"
#include "held_faults.h"
#include "lock.h"
#include "program_memory.h"
#include "service.h"
#include "signal_actions.h"
#include "signal_frame.h"
#include "sys.h"
#include "threads.h"
#include "timed_wait.h"
#include "tracing.h"
#include "trap_flag.h"

namespace hodo::engine {
namespace {

bool is_on_alternate(const ThreadArea& area) {
  return area.alternate.holds(area.registers.rsp) &&
         (area.alternate.flags & KernelStack::kAutoDisarm) == 0;
}

// As the kernel's do_sigaltstack(): 0, or why not.
long set_alternate(ThreadArea& area, KernelStack wanted) {
  constexpr std::uint64_t kLeast = 2048;  // MINSIGSTKSZ
  if (is_on_alternate(area)) return -EPERM;
  const std::uint32_t mode = wanted.flags & ~KernelStack::kAutoDisarm;
  if (mode > KernelStack::kDisabled) return -EINVAL;
  if (mode == KernelStack::kDisabled) {
    wanted.start = wanted.size = 0;
  } else if (wanted.size < kLeast) {
    return -ENOMEM;
  } else {
    wanted.flags &= ~KernelStack::kOn;
  }
  area.alternate = wanted;
  return 0;
}

// The thread of this process that a call has sent a signal to, 0 for the process as a whole;
// nothing: the call was for others. It has succeeded.
std::optional<std::int32_t> own_receiver(const ThreadArea& area) {
  const Registers& r = area.registers;
  const auto first = static_cast<std::int32_t>(r.rdi);
  const auto second = static_cast<std::int32_t>(r.rsi);
  switch (r.rax) {
    case SYS_kill: {
      const bool group = first == 0 || (first < -1 && -first == raw_syscall(SYS_getpgid, 0));
      return first == area.pid || group ? std::optional(0) : std::nullopt;
    }
    case SYS_rt_sigqueueinfo:
      return first == area.pid ? std::optional(0) : std::nullopt;
    case SYS_tkill:
      return first;
    default:  // tgkill, rt_tgsigqueueinfo
      return first == area.pid ? std::optional(second) : std::nullopt;
  }
}

bool ends_process(const ThreadArea& area, unsigned number) {
  if (number < 1 || number > kSignals) return false;
  const Locked locked;
  return area.actions->of[number].handler == kDefault && is_ended_by(number);
}

}  // namespace

void await_own_end(const ThreadArea& area) {
  constexpr int kTries = 200;
  constexpr timespec kBetween{.tv_sec = 0, .tv_nsec = 500'000};
  const Registers& r = area.registers;
  const bool third = r.rax == SYS_tgkill || r.rax == SYS_rt_tgsigqueueinfo;
  const auto number = static_cast<unsigned>(third ? r.rdx : r.rsi);
  const auto to = own_receiver(area);
  if (!to || !ends_process(area, number) || !any_thread_lets_through(area, *to, number)) return;
  const auto is_here = [&] {
    return __atomic_load_n(&area.waits, __ATOMIC_ACQUIRE) != 0 || is_ending(area);
  };
  for (int i = 0; i < kTries && !is_here(); ++i) {
    sleep_for(kBetween);
  }
}

long sigaction_call(ThreadArea& area) {
  const Registers& r = area.registers;
  const std::uint64_t number = r.rdi, to = r.rsi, old = r.rdx;
  if (area.taken[0] != kSetBytes) return -EINVAL;
  KernelAction wanted;
  if (to != 0 && !read_program(&wanted, to, sizeof wanted)) return -EFAULT;
  if (number < 1 || number > kSignals) return -EINVAL;
  if (to != 0) {
    if (number == kKill || number == kStop) return -EINVAL;
    wanted.mask &= ~(signal_bit(kKill) | signal_bit(kStop));
    wanted.flags &= action::kKnown;
  }
  const std::uint64_t mask = block_signals();
  KernelAction before;
  {
    const Locked locked;
    before = area.actions->of[number];
    if (to != 0) {
      area.actions->of[number] = wanted;
      install_action(static_cast<unsigned>(number), wanted);
    }
  }
  if (to != 0 && wanted.handler == kIgnore && is_fault(static_cast<unsigned>(number))) {
    drop_held_fault(area, static_cast<unsigned>(number));
  }
  set_mask(mask);
  if (old != 0 && !write_program(old, &before, sizeof before)) return -EFAULT;
  return 0;
}

long sigprocmask_call(ThreadArea& area) {
  const Registers& r = area.registers;
  std::uint64_t set = 0;
  if (area.taken[0] != kSetBytes) return -EINVAL;
  if (r.rsi != 0 && !read_program(&set, r.rsi, sizeof set)) return -EFAULT;
  if (r.rsi != 0 && r.rdi > SIG_SETMASK) return -EINVAL;
  const std::uint64_t kernel = block_signals();
  if (area.waits != 0) {  // it came first; the mask is not the program's
    set_mask(kernel);
    return kInterrupted;
  }
  const std::uint64_t before = kernel | area.blocked_faults;
  std::uint64_t after = before;
  if (r.rsi != 0) {
    set &= ~(signal_bit(kKill) | signal_bit(kStop));
    after = r.rdi == SIG_BLOCK ? before | set : r.rdi == SIG_UNBLOCK ? before & ~set : set;
  }
  area.blocked_faults = after & kFaults;
  area.program_mask = after & ~kFaults;
  set_mask(area.program_mask);
  if ((before & ~after & kFaults) != 0) const HeldInKernel now(area);
  if (r.rdx != 0 && !write_program(r.rdx, &before, sizeof before)) return -EFAULT;
  return 0;
}

long sigaltstack_call(ThreadArea& area) {
  const Registers& r = area.registers;
  KernelStack before = area.alternate;
  if (is_on_alternate(area)) before.flags |= KernelStack::kOn;
  if (r.rdi != 0) {
    KernelStack wanted;
    if (!read_program(&wanted, r.rdi, sizeof wanted)) return -EFAULT;
    if (const long refused = set_alternate(area, wanted); refused != 0) return refused;
  }
  if (r.rsi != 0 && !write_program(r.rsi, &before, sizeof before)) return -EFAULT;
  return 0;
}

long sigreturn_call(ThreadArea& area) {
  const std::uint64_t mask = block_signals();
  if (area.waits != 0) {  // it came first
    set_mask(mask);
    return kInterrupted;
  }
  // Not on the stack that the kernel is told to leave.
  static_assert(sizeof(KernelContext) < 512);
  KernelContext context;
  if (!read_program(&context, area.registers.rsp, sizeof context)) {
    // Behind the call the process ends by it, also where the program blocks or handles it.
    {
      const Locked locked;
      area.actions->of[kSegv] = {};
    }
    area.blocked_faults &= ~signal_bit(kSegv);
    raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), kSegv);
    return 0;
  }
  set_alternate(area, context.stack);  // what a frame says wrong counts for nothing
  context.eflags =
      (program_flags(area) & ~eflags::kOfFrames) | (context.eflags & eflags::kOfFrames);
  save_native_registers(area, context);
  set_trap_flag(area, context.eflags);
  const bool code_32 = is_code_32(context);
  if (!code_32) enter_at(area, area.ip);
  area.blocked_faults = context.mask & kFaults;
  context.mask &= ~kFaults;
  area.program_mask = context.mask;
  context.stack.start = area.handler_stack();
  context.stack.flags = 0;
  context.stack.size = ThreadArea::kHandlerStackBytes;
  if (code_32) {
    step_in_program(area, context);
  } else {
    return_to_engine(area, context);
  }
  if (area.held_faults[0].number != 0) give_held_faults_to_kernel(area);
  glue_restore_context(&context);
}

}  // namespace hodo::engine
