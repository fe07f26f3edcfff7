#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>

#include "code_pages.h"
#include "glue.h"
#include "lock.h"
#include "mappings.h"
#include "service.h"
#include "signals.h"
#include "threads.h"

namespace hodo::engine {
namespace {

// What the call did to the program's memory.
void note_mappings(const Registers& r, long result) {
  if (failed(result)) return;
  const Locked locked;
  switch (r.rax) {
    case SYS_mmap:
      return code_unmapped(static_cast<std::uint64_t>(result), r.rsi);
    case SYS_munmap:
      return code_unmapped(r.rdi, r.rsi);
    case SYS_mremap:
      code_unmapped(r.rdi, r.rsi);
      return code_unmapped(static_cast<std::uint64_t>(result), r.rdx);
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      return code_protected(r.rdi, r.rsi, static_cast<std::uint32_t>(r.rdx));
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
  note_mappings(area.registers, result);
  return result;
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
      drain_output(area.output, area.unit.written());
      return glue_syscall(&area);
    case SYS_rseq:
      // The kernel would restart critical sections at their addresses in the program, not in the
      // cache.
      return -ENOSYS;
    default:
      return passed_on(area);
  }
}

}  // namespace

void system_call(ThreadArea& area, std::uint64_t ip, std::uint64_t behind) {
  if (area.waits != 0) return go_on_at(area, ip);
  const std::uint64_t before = area.unit.calls_forgotten();
  area.unit.leave_after(area.outcomes);
  area.outcomes = unit::InlinePt::kNoOutcomes;
  area.ip = behind;
  const long result = call(area, behind);
  Registers& r = area.registers;
  if (result != kInterrupted) {
    r.rax = static_cast<std::uint64_t>(result);
    r.rcx = behind;
    area.taken[1] = r.flags & ~eflags::kTf;
    ip = behind;
  }
  area.unit.enter_at(ip);
  forget_calls(area, before);
  go_on_at(area, ip);
}

}  // namespace hodo::engine
