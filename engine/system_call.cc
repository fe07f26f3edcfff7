#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>

#include "code_pages.h"
#include "code_report.h"
#include "exec.h"
#include "glue.h"
#include "lock.h"
#include "mappings.h"
#include "memory.h"
#include "recording.h"
#include "service.h"
#include "signals.h"
#include "threads.h"

namespace hodo::engine {
namespace {

// What the call did to the program's memory.
void unmapped(std::uint64_t start, std::uint64_t bytes) {
  code_unmapped(start, bytes);
  report_unmapped(start, bytes);
}

void note_mappings(ThreadArea& area, long result) {
  if (failed(result)) return;
  const Registers& r = area.registers;
  const Locked locked;
  switch (r.rax) {
    case SYS_mmap:
      unmapped(static_cast<std::uint64_t>(result), r.rsi);
      if ((r.rdx & PROT_EXEC) != 0) report_files(area, true);
      return;
    case SYS_munmap:
      return unmapped(r.rdi, r.rsi);
    case SYS_mremap:
      unmapped(r.rdi, r.rsi);
      return unmapped(static_cast<std::uint64_t>(result), r.rdx);
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      code_protected(r.rdi, r.rsi, static_cast<std::uint32_t>(r.rdx));
      return report_protected(area, r.rdi, r.rsi, static_cast<std::uint32_t>(r.rdx));
    case SYS_madvise:
      if (r.rdx == MADV_DONTNEED || r.rdx == MADV_REMOVE || r.rdx == MADV_FREE) {
        code_replaced(r.rdi, r.rsi);
      }
      return;
    case SYS_shmat:
    case SYS_shmdt:
    case SYS_remap_file_pages:
      return mappings_changed();
    default:
      return;
  }
}

// The kernel may have failed to write to a page that is protected because its code was translated.
long passed_on(ThreadArea& area) {
  long result = glue_syscall(&area);
  if (result == -EFAULT) {
    bool any = false;
    {
      const Locked locked;
      any = unprotect_all();
    }
    if (any) result = glue_syscall(&area);
  }
  note_mappings(area, result);
  return result;
}

// The program may not take away or replace what the engine lives in, whose addresses it can only
// have from /proc.
bool is_against_engine(const Registers& r, std::uint64_t r10) {
  switch (r.rax) {
    case SYS_mmap:
      return (r10 & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == MAP_FIXED && is_own(r.rdi, r.rsi);
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
    case SYS_madvise:
    case SYS_remap_file_pages:
      return is_own(r.rdi, r.rsi);
    case SYS_mremap:
      return is_own(r.rdi, r.rsi) || ((r10 & MREMAP_FIXED) != 0 && is_own(r.r8, r.rdx));
    default:
      return false;
  }
}

// The kernel's answer. Most calls are the program's own affair; here are those that concern the
// engine.
long call(ThreadArea& area, std::uint64_t behind) {
  switch (area.registers.rax) {
    case SYS_exit:
    case SYS_exit_group:
      exit_call(area);
    case SYS_rt_sigreturn:
      return sigreturn_call(area);
    case SYS_rt_sigaction:
      return sigaction_call(area);
    case SYS_rt_sigprocmask:
      return sigprocmask_call(area);
    case SYS_sigaltstack:
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
      const long result = passed_on(area);
      if (area.registers.rdi == PR_SET_NAME && !failed(result)) send_name(area);
      return result;
    }
    case SYS_rseq:
      // The kernel would restart critical sections at their addresses in the program, not in the
      // cache.
      return -ENOSYS;
    default:
      if (is_against_engine(area.registers, area.taken[0])) return -EINVAL;
      return passed_on(area);
  }
}

}  // namespace

void system_call(ThreadArea& area, std::uint64_t ip, std::uint64_t behind) {
  if (area.waits != 0) return go_on_at(area, ip);
  area.unit.leave_after(area.outcomes);
  area.outcomes = unit::InlinePt::kNoOutcomes;
  hand_over(area.output, false, 0);
  area.ip = behind;
  const long result = call(area, behind);
  if (is_ending(area)) stop_here(area);
  Registers& r = area.registers;
  if (result != kInterrupted) {
    r.rax = static_cast<std::uint64_t>(result);
    r.rcx = behind;
    area.taken[1] = r.flags & ~eflags::kTf;
    ip = behind;
  }
  enter_at(area, ip);
}

}  // namespace hodo::engine
