#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <optional>

#include "asked_call.h"
#include "attach.h"
#include "block_calls.h"
#include "clock.h"
#include "code_pages.h"
#include "dispatch.h"
#include "edition.h"
#include "exec.h"
#include "file_calls.h"
#include "glue.h"
#include "line.h"
#include "lock.h"
#include "memory_file.h"
#include "memory_limits.h"
#include "output.h"
#include "passed_call.h"
#include "program_memory.h"
#include "ptrace_call.h"
#include "recording.h"
#include "seccomp.h"
#include "service.h"
#include "signal_actions.h"
#include "signal_calls.h"
#include "sys.h"
#include "threads.h"
#include "tracing.h"
#include "trap_flag.h"

namespace hodo::engine {
namespace {

constexpr std::uint64_t kSetMdwe = 65;                // PR_SET_MDWE, Linux 6.3
constexpr std::uint64_t kEnableShadowStack = 0x5001;  // ARCH_SHSTK_ENABLE, Linux 6.6

// Whether it may lead to where nobody is called by an abstract socket's name: to another network
// namespace, or into a domain of Landlock's that keeps to its own sockets, as rulesets may ask for.
bool may_lead_away(const Registers& r) {
  if (r.rax == SYS_landlock_restrict_self) return true;
  const std::uint64_t kinds = r.rax == SYS_unshare ? r.rdi : r.rsi;
  const bool any = r.rax == SYS_setns && kinds == 0;
  return any || (kinds & CLONE_NEWNET) != 0;
}

long go_apart(ThreadArea& area) {
  const bool made = is_recorded(area) && may_lead_away(area.registers) && keep_line();
  const long result = passed_on(area);
  if (made && failed(result)) drop_line();
  return result;
}

// Seccomp's strict mode leaves a thread four system calls, and the engine needs more: the engine
// keeps it in the kernel's place, once the kernel would grant it (kernel/seccomp.c).
bool asks_for_strict_mode(const Registers& r) {
  constexpr long kNone = 0;
  const bool asks =
      (r.rax == SYS_prctl && r.rdi == PR_SET_SECCOMP && r.rsi == SECCOMP_MODE_STRICT) ||
      (r.rax == SYS_seccomp && r.rdi == SECCOMP_SET_MODE_STRICT && r.rsi == 0 && r.rdx == 0);
  return asks && raw_syscall(SYS_prctl, PR_GET_SECCOMP) == kNone;
}

bool is_strict(std::uint64_t number) {
  return number == SYS_read || number == SYS_write || number == SYS_exit ||
         number == SYS_rt_sigreturn;
}

// The kernel's answer. Most calls are the program's own affair; here are those that concern the
// engine.
long call(ThreadArea& area, std::uint64_t behind) {
  if (area.strict && !is_strict(area.registers.rax)) end_strict_thread(area, behind);
  if (asks_for_strict_mode(area.registers)) {
    area.strict = true;
    return 0;
  }
  if (asks_for_filter(area.registers)) return filter_call(area);
  if (asks_for_limit(area.registers, area.taken[0])) return limit_call(area, passed_on);
  switch (area.registers.rax) {
    case SYS_exit:
    case SYS_exit_group:
      return exit_call(area);
    case SYS_rt_sigreturn:
      return sigreturn_call(area);
    case SYS_rt_sigaction:
      if (const long refused = ask_filter(area); refused != 0) return refused;
      return sigaction_call(area);
    case SYS_rt_sigprocmask:
      if (const long refused = ask_filter(area); refused != 0) return refused;
      return sigprocmask_call(area);
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo: {
      const long result = passed_on(area);
      if (result == 0) await_own_end(area);
      return result;
    }
    case SYS_sigaltstack:
      if (const long refused = ask_filter(area); refused != 0) return refused;
      return sigaltstack_call(area);
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
      return clone_call(area, behind);
    case SYS_execve:
    case SYS_execveat:
      return exec_call(area);
    case SYS_prctl: {
      if (area.registers.rdi == kSetUserDispatch) return dispatch_call(area);
      if (area.registers.rdi == kSetMdwe) {
        const Locked locked;
        stop_guarding();
      }
      const long result = passed_on(area);
      if (area.registers.rdi == PR_SET_NAME && !failed(result)) send_name(area);
      if (area.registers.rdi == PR_SET_TSC) look_for_counter();
      return result;
    }
    // Code in the cache does not return where the processor would have it return. As the kernel
    // answers where there are no shadow stacks.
    case SYS_arch_prctl:
      if (area.registers.rdi != kEnableShadowStack) return passed_on(area);
      if (const long refused = ask_filter(area); refused != 0) return refused;
      return -EOPNOTSUPP;
    case SYS_ptrace:
      prepare_ptrace(area);
      return passed_on(area);
    case SYS_unshare:
    case SYS_setns:
    case SYS_landlock_restrict_self:
      return go_apart(area);
    case SYS_umount2:
      return unmount_call(area);
    case SYS_unlink:
    case SYS_unlinkat:
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2:
      return unname_call(area);
    case SYS_close:
      return close_call(area);
    case SYS_close_range:
      return close_range_call(area);
    case SYS_dup2:
    case SYS_dup3:
      return dup_call(area);
    case SYS_rseq:
      return rseq_call(area);
    case SYS_open:
    case SYS_openat:
    case SYS_openat2: {
      const long result = passed_on(area);
      note_opened(area, result);
      return result;
    }
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2: {
      const MemoryWrite write = memory_write(area);
      const long result = passed_on(area);
      note_written(area, write, result);
      return result;
    }
    default:
      if (is_against_engine(area)) return -EINVAL;
      return passed_on(area);
  }
}

// As after SYSCALL; RAX is what it was, or the caller's to set. Not before the call is made: until
// then the recorder lets a thread get to the one that attaching has interrupted.
void stand_behind(ThreadArea& area, std::uint64_t behind) {
  area.native_thread.restart = 0;
  area.registers.rcx = behind;
  area.taken[1] = program_flags(area);
  step_anew(area);
}

// What INT 0x80 asks for of what concerns the engine, as SYSCALL numbers it; of the calls of 32
// bits (arch/x86/entry/syscalls/syscall_32.tbl) those that no structure goes with.
std::optional<std::uint64_t> asked_by_interrupt(const ThreadArea& area, std::uint64_t ip) {
  std::uint8_t code[2];
  if (!read_code(code, ip, sizeof code) || code[0] != 0xcd || code[1] != 0x80) {
    return std::nullopt;
  }
  switch (static_cast<std::uint32_t>(area.registers.rax)) {
    case 1:
      return SYS_exit;
    case 2:
      return SYS_fork;
    case 190:
      return SYS_vfork;
    case 252:
      return SYS_exit_group;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool interrupt_call(ThreadArea& area, std::uint64_t ip, std::uint64_t left_at) {
  const auto number = asked_by_interrupt(area, ip);
  if (!number || area.waits != 0) return false;
  const std::uint64_t behind = ip + 2;
  area.in_block = false;
  trace_interruption(area, left_at);
  hand_over(area.output, false, 0);
  leave_cache(area);
  area.ip = behind;
  const Registers before = area.registers;
  area.registers.rax = *number;
  if (*number == SYS_exit || *number == SYS_exit_group) area.registers.rdi = before.rbx;
  const long result = call(area, behind);
  area.registers = before;
  if (result != kInterrupted) {
    area.registers.rax = static_cast<std::uint64_t>(result);
    step_anew(area);
    ip = behind;
  }
  area.ip = ip;
  if (is_ending(area)) stop_here(area);
  enter_at(area, ip);
  return true;
}

void system_call(ThreadArea& area, std::uint64_t ip, std::uint64_t behind) {
  // No signal comes between the two: a sigreturn that is in the trace is made.
  const bool returns = static_cast<std::uint32_t>(area.registers.rax) == SYS_rt_sigreturn;
  const std::uint64_t mask = returns ? block_signals() : 0;
  const auto unblock = [&] {
    if (returns) set_mask(mask);
  };
  if (area.waits != 0) {
    unblock();
    area.in_block = true;  // and to the unit it has been left
    if (by_blocks) trace_interruption(area, ip);
    return go_on_at(area, ip);
  }
  trace_system_call(area);
  leave_cache(area);
  area.ip = behind;
  if (dispatches(area, behind)) {
    unblock();
    stand_behind(area, behind);
    return enter_at(area, behind);
  }
  {
    AskedCall asked(area);
    const long result = call(area, behind);
    if (result != kInterrupted) {
      area.registers.rax = static_cast<std::uint64_t>(result);
      stand_behind(area, behind);
      ip = behind;
    } else {
      asked.undo();
    }
  }
  area.ip = ip;
  if (is_ending(area)) stop_here(area);
  enter_at(area, ip);
}

}  // namespace hodo::engine
