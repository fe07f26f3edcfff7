#include "signal_actions.h"

#include <signal.h>
#include <sys/syscall.h>

#include "glue.h"
#include "lock.h"
#include "signals.h"
#include "sys.h"

namespace hodo::engine {

bool writes_core(unsigned number) {
  constexpr std::uint64_t kThose = signal_bit(kQuit) | signal_bit(kIll) | signal_bit(kTrap) |
                                   signal_bit(kAbort) | signal_bit(kBus) | signal_bit(kFpe) |
                                   signal_bit(kSegv) | signal_bit(kProcessorTime) |
                                   signal_bit(kFileSize) | signal_bit(kSys);
  return (signal_bit(number) & kThose) != 0;
}

bool ends_by_default(unsigned number) {
  switch (number) {
    case kChild:
    case kContinue:
    case kUrgent:
    case kWindow:
    case kStop:
    case kTerminalStop:
    case kTerminalIn:
    case kTerminalOut:
      return false;
    default:
      return true;
  }
}

bool is_ended_by(unsigned number) {
  return ends_by_default(number) && raw_syscall(SYS_getpid) != 1;
}

long kernel_action(unsigned number, const KernelAction* to, KernelAction* old) {
  return raw_syscall(SYS_rt_sigaction, number, reinterpret_cast<long>(to),
                     reinterpret_cast<long>(old), kSetBytes);
}

long install_action(unsigned number, const KernelAction& wanted) {
  using namespace action;
  const bool ours = is_fault(number) || wanted.handler > kIgnore ||
                    (wanted.handler == kDefault && is_ended_by(number));
  KernelAction to = wanted;
  if (ours) {
    to.handler = reinterpret_cast<std::uint64_t>(&engine_signal);
    to.flags = kSigInfo | kOnStack | kRestorer | kNoDefer |
               (wanted.flags & (kRestart | kNoChildStop | kNoChildWait));
    const bool nothing =
        wanted.handler == kIgnore || (wanted.handler == kDefault && !is_ended_by(number));
    if (nothing) to.flags |= kRestart;
    to.restorer = reinterpret_cast<std::uint64_t>(&glue_restorer);
    to.mask = ~kFaults;
  }
  return kernel_action(number, &to, nullptr);
}

KernelAction take_action(ThreadArea& area, unsigned number) {
  const Locked locked;
  KernelAction& wanted = area.actions->of[number];
  const KernelAction found = wanted;
  if (found.handler > kIgnore && (found.flags & action::kResetHandler) != 0) {
    wanted.handler = kDefault;  // its flags and mask stay, as SA_RESETHAND of the kernel has it
    install_action(number, wanted);
  }
  return found;
}

void install_actions(const ThreadArea& area) {
  for (unsigned number = 1; number <= kSignals; ++number) {
    if (number != kKill && number != kStop) install_action(number, area.actions->of[number]);
  }
}

void read_actions(ThreadArea& area) {
  for (unsigned number = 1; number <= kSignals; ++number) {
    kernel_action(number, nullptr, &area.actions->of[number]);
  }
}

const KernelAction* restore_actions(const SignalActions& actions) {
  for (unsigned number = 1; number <= kSignals; ++number) {
    if (number != kKill && number != kStop && number != kTrap) {
      kernel_action(number, &actions.of[number], nullptr);
    }
  }
  return &actions.of[kTrap];
}

void initialise_signals(ThreadArea& area) {
  read_actions(area);
  std::uint64_t mask = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, reinterpret_cast<long>(&mask), kSetBytes);
  area.blocked_faults = mask & kFaults;
  begin_signals(area);
  area.program_mask = mask & ~kFaults;
  set_mask(area.program_mask);
  install_actions(area);
}

void reset_handlers(SignalActions& actions) {
  for (KernelAction& one : actions.of) {
    if (one.handler > kIgnore) one = {};
  }
}

void begin_signals(ThreadArea& area) {
  KernelStack stack;
  stack.start = area.handler_stack();
  stack.flags = 0;
  stack.size = ThreadArea::kHandlerStackBytes;
  raw_syscall(SYS_sigaltstack, reinterpret_cast<long>(&stack), 0);
}

std::uint64_t block_signals() {
  const std::uint64_t all = ~kFaults;
  std::uint64_t before = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&all),
              reinterpret_cast<long>(&before), kSetBytes);
  return before;
}

void set_mask(std::uint64_t mask) {
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&mask), 0, kSetBytes);
}

}  // namespace hodo::engine
