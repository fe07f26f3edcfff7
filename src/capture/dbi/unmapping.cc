#include "unmapping.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "tracee.h"

namespace hodo::capture {

bool unmap_tables(pid_t tid, const EngineImage& engine) {
  auto registers = registers_of(tid);
  if (!registers) return false;
  registers->rip = engine.entries().unmap;
  registers->orig_rax = ~0ULL;
  registers->eflags = 0x202;
  if (!set_registers(tid, *registers)) return false;
  do {
    if (!to_next_call(tid)) return false;
    registers = registers_of(tid);
    if (!registers) return false;
  } while (registers->rip != engine.entries().unmapped);
  return to_next_call(tid);  // behind it
}

bool settle(pid_t tid) {
  if (ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0) return false;
  if (ptrace(PTRACE_CONT, tid, nullptr, nullptr) != 0) return false;
  const auto status = wait_for(tid, {});
  return status && WIFSTOPPED(*status);
}

}  // namespace hodo::capture
