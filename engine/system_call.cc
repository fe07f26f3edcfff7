#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>

#include "attach.h"
#include "block_calls.h"
#include "channel.h"
#include "clock.h"
#include "code_pages.h"
#include "code_report.h"
#include "dispatch.h"
#include "edition.h"
#include "exec.h"
#include "glue.h"
#include "held_faults.h"
#include "hodo/base/page.h"
#include "line.h"
#include "lock.h"
#include "mappings.h"
#include "memory.h"
#include "memory_file.h"
#include "memory_limits.h"
#include "output.h"
#include "program_memory.h"
#include "ptrace_call.h"
#include "recording.h"
#include "seccomp.h"
#include "service.h"
#include "signal_actions.h"
#include "signal_calls.h"
#include "threads.h"
#include "tracing.h"
#include "trap_flag.h"

namespace hodo::engine {
namespace {

// Something else is there now, or nothing.
void forget(std::uint64_t start, std::uint64_t bytes) {
  code_unmapped(start, bytes);
  report_unmapped(start, bytes);
}

// What the program gets where it asks for this.
std::uint32_t rights(std::uint64_t prot) {
  if ((prot & PROT_READ) == 0 || (prot & PROT_EXEC) != 0) return static_cast<std::uint32_t>(prot);
  constexpr long kAsk = 0xffff'ffff;
  const bool implied = (raw_syscall(SYS_personality, kAsk) & READ_IMPLIES_EXEC) != 0;
  return static_cast<std::uint32_t>(implied ? prot | PROT_EXEC : prot);
}

std::uint64_t heap_end = 0;  // 0: not known yet

void broke(std::uint64_t end) {
  const std::uint64_t first = (end + kPage - 1) / kPage * kPage;
  if (first < heap_end) {
    note_unmapped(first, heap_end - first);
    forget(first, heap_end - first);
  }
  heap_end = end;
}

void mapped(ThreadArea& area, std::uint64_t start) {
  const Registers& r = area.registers;
  const std::uint64_t flags = area.taken[0];
  const bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
  const std::uint32_t prot = rights(r.rdx);
  forget(start, r.rsi);
  note_mapped(start, r.rsi, prot, shared, (flags & MAP_ANONYMOUS) == 0 || shared);
  if ((flags & MAP_HUGETLB) != 0) mappings_changed();
  if ((prot & PROT_EXEC) == 0) return;
  if ((flags & MAP_ANONYMOUS) == 0) report_files(area, true);
  report_granted(area, start, r.rsi);
}

// What was mapped elsewhere is here now.
void moved(ThreadArea& area, std::uint64_t start) {
  const Registers& r = area.registers;
  note_moved(r.rdi, r.rsi, start, r.rdx);
  forget(r.rdi, r.rsi);
  forget(start, r.rdx);
  if ((protection_of(start) & PROT_EXEC) != 0) report_granted(area, start, r.rdx);
}

void got_rights(ThreadArea& area) {
  const Registers& r = area.registers;
  const std::uint32_t prot = rights(r.rdx);
  note_protected(r.rdi, r.rsi, prot);
  code_protected(r.rdi, r.rsi, prot);
  report_protected(area, r.rdi, r.rsi, prot);
  if ((prot & PROT_EXEC) != 0) report_granted(area, r.rdi, r.rsi);
}

struct Range {
  std::uint64_t start = 0, bytes = 0;
};
struct Ranges {
  Range of[2];
};

// The mappings that a call changes which are there before it.
Ranges changed_mappings(const Registers& r, std::uint64_t r10) {
  constexpr std::uint64_t kAddressesEnd = 0x7fff'ffff'f000;  // TASK_SIZE_MAX
  switch (r.rax) {
    case SYS_mmap:
      if ((r10 & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != MAP_FIXED) return {};
      if (r.rdi > kAddressesEnd || r.rsi > kAddressesEnd - r.rdi) return {};  // the kernel refuses
      return {{{r.rdi, r.rsi}, {}}};
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      return {{{r.rdi, r.rsi}, {}}};
    case SYS_mremap:
      if ((r10 & MREMAP_FIXED) == 0) return {{{r.rdi, r.rsi}, {}}};
      return {{{r.rdi, r.rsi}, {r.r8, r.rdx}}};
    default:
      return {};
  }
}

// What the call did to the program's memory.
void note_mappings(ThreadArea& area, long result) {
  const Registers& r = area.registers;
  if (failed(result)) {
    // It may have been done in part.
    if (r.rax == SYS_madvise) return code_replaced(r.rdi, r.rsi);
    for (const Range& range : changed_mappings(r, area.taken[0]).of) {
      if (range.bytes == 0) continue;
      mappings_changed();
      forget(range.start, range.bytes);
    }
    return;
  }
  switch (r.rax) {
    case SYS_mmap:
      return mapped(area, static_cast<std::uint64_t>(result));
    case SYS_munmap:
      note_unmapped(r.rdi, r.rsi);
      return forget(r.rdi, r.rsi);
    case SYS_brk:
      return broke(static_cast<std::uint64_t>(result));
    case SYS_mremap:
      return moved(area, static_cast<std::uint64_t>(result));
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      return got_rights(area);
    case SYS_madvise:
      if (r.rdx == MADV_DONTNEED || r.rdx == MADV_REMOVE || r.rdx == MADV_FREE) {
        code_replaced(r.rdi, r.rsi);
      }
      return;
    case SYS_shmat: {
      mappings_changed();
      const Mapping* made = find_mapping(static_cast<std::uint64_t>(result));
      if (made != nullptr) forget(made->start, made->end - made->start);
      return;
    }
    default:
      return mappings_changed();
  }
}

// Whether a call changes what is mapped where, and how.
enum class Maps { nothing, something, at_once };

// `at_once`: nobody else may map what it frees, translate code there or guard a page, until what
// the kernel did has been noted. Not where the kernel may wait for another thread of the program on
// the way: one that serves the pages that the call brings in (userfaultfd, FUSE).
Maps maps(const Registers& r, std::uint64_t r10) {
  switch (r.rax) {
    case SYS_mmap: {
      const bool waits = (r10 & (MAP_POPULATE | MAP_LOCKED)) != 0;
      return (r10 & MAP_FIXED) != 0 && !waits ? Maps::at_once : Maps::something;
    }
    case SYS_munmap:
    case SYS_brk:
    case SYS_mremap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      return Maps::at_once;
    case SYS_madvise:
      return r.rdx == MADV_DONTNEED || r.rdx == MADV_FREE ? Maps::at_once : Maps::something;
    case SYS_shmat:
    case SYS_shmdt:
    case SYS_remap_file_pages:
      return Maps::something;
    default:
      return Maps::nothing;
  }
}

// Whether a call maps so much more that the program exceeds its limits.
bool is_beyond_limits(const Registers& r, std::uint64_t r10) {
  constexpr std::uint64_t kWritable = PROT_WRITE;
  switch (r.rax) {
    case SYS_mmap:
      return (r10 & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != MAP_FIXED &&
             exceeds_memory_limits(r.rsi,
                                   (r.rdx & kWritable) != 0 && (r10 & MAP_TYPE) == MAP_PRIVATE);
    case SYS_mremap:
      return r.rdx > r.rsi && exceeds_memory_limits(r.rdx - r.rsi, true);
    case SYS_brk:
      return heap_end != 0 && r.rdi > heap_end && exceeds_memory_limits(r.rdi - heap_end, true);
    default:
      return false;
  }
}

void give_back_changed(const ThreadArea& area) {
  for (const Range& range : changed_mappings(area.registers, area.taken[0]).of) {
    if (range.bytes != 0) give_back_pages(range.start, range.bytes);
  }
}

// A signal that the program blocks and that is kept from here on does not end a call.
long make_call(ThreadArea& area) {
  for (;;) {
    const HeldInKernel held(area);  // from here on none is held
    const long result = glue_syscall(&area);
    if (result != -EINTR || area.held_faults[0].number == 0 || area.waits != 0) return result;
  }
}

long map_at_once(ThreadArea& area) {
  const Locked locked;
  give_back_changed(area);
  const long result = make_call(area);
  if (result != kInterrupted) note_mappings(area, result);
  return result;
}

long map(ThreadArea& area) {
  const Range range = changed_mappings(area.registers, area.taken[0]).of[0];
  {
    const Locked locked;
    give_back_changed(area);
    begin_replacing(area, range.start, range.bytes);
  }
  const long result = make_call(area);
  const Locked locked;
  end_replacing(area);
  if (result != kInterrupted) note_mappings(area, result);
  return result;
}

// The kernel may have failed to write to a page that is protected because its code was translated,
// and again where that was done meanwhile.
long passed_on(ThreadArea& area) {
  constexpr int kTries = 16;
  if (is_beyond_limits(area.registers, area.taken[0])) {
    return area.registers.rax == SYS_brk ? static_cast<long>(heap_end) : -ENOMEM;
  }
  switch (maps(area.registers, area.taken[0])) {
    case Maps::at_once:
      return map_at_once(area);
    case Maps::something:
      return map(area);
    case Maps::nothing:
      break;
  }
  for (int i = 0;; ++i) {
    const long result = make_call(area);
    if (result != -EFAULT || i == kTries) return result;
    const Locked locked;
    if (!unprotect_all()) return result;
  }
}

// The program may not take away or replace what the engine lives in, whose addresses it can only
// have from /proc.
bool is_against_engine(const Registers& r, std::uint64_t r10) {
  if (r.rax == SYS_madvise || r.rax == SYS_remap_file_pages) return is_own(r.rdi, r.rsi);
  const Ranges changed = changed_mappings(r, r10);
  return std::any_of(std::begin(changed.of), std::end(changed.of), [](const Range& range) {
    return range.bytes != 0 && is_own(range.start, range.bytes);
  });
}

// unshare and setns, where they may lead to another network namespace.
long change_namespaces(ThreadArea& area) {
  const Registers& r = area.registers;
  const std::uint64_t kinds = r.rax == SYS_unshare ? r.rdi : r.rsi;
  const bool any = r.rax == SYS_setns && kinds == 0;
  const bool made = is_recorded(area) && (any || (kinds & CLONE_NEWNET) != 0) && keep_line();
  const long result = passed_on(area);
  if (made && failed(result)) drop_line();
  return result;
}

// What ran of a file system that is to be unmounted the recorder holds open.
long unmount_call(ThreadArea& area) {
  const Registers& r = area.registers;
  const long result = passed_on(area);
  if (result != -EBUSY || !is_recorded(area)) return result;
  const long follow = (r.rsi & UMOUNT_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0;
  struct stat root{};
  if (failed(raw_syscall(SYS_newfstatat, AT_FDCWD, static_cast<long>(r.rdi),
                         reinterpret_cast<long>(&root), follow | AT_NO_AUTOMOUNT)) ||
      !let_go_of_files(root.st_dev)) {
    return result;
  }
  return passed_on(area);
}

void hold_file_at(std::uint64_t directory, std::uint64_t path) {
  struct stat file{};
  if (failed(raw_syscall(SYS_newfstatat, static_cast<long>(directory), static_cast<long>(path),
                         reinterpret_cast<long>(&file), AT_SYMLINK_NOFOLLOW))) {
    return;
  }
  constexpr mode_t kMayRun = S_IXUSR | S_IXGRP | S_IXOTH;
  const bool is_program = S_ISREG(file.st_mode) && (file.st_mode & kMayRun) != 0;
  const Locked locked;
  hold_told_file(is_program ? 0 : file.st_ino);
}

// A name goes away, or becomes another file's.
long unname_call(ThreadArea& area) {
  const Registers& r = area.registers;
  constexpr auto kHere = static_cast<std::uint64_t>(AT_FDCWD);
  if (!is_recorded(area)) return passed_on(area);
  switch (r.rax) {
    case SYS_unlink:
      hold_file_at(kHere, r.rdi);
      break;
    case SYS_unlinkat:
      hold_file_at(r.rdi, r.rsi);
      break;
    case SYS_rename:
      hold_file_at(kHere, r.rdi);
      hold_file_at(kHere, r.rsi);
      break;
    default:  // renameat, renameat2
      hold_file_at(r.rdi, r.rsi);
      hold_file_at(r.rdx, area.taken[0]);
      break;
  }
  return passed_on(area);
}

// close_range on both sides of the line.
long close_range_call(ThreadArea& area) {
  Registers& r = area.registers;
  const relay::Line kept = line();
  const auto number = static_cast<std::uint32_t>(kept.number);
  const auto first = static_cast<std::uint32_t>(r.rdi);
  const auto last = static_cast<std::uint32_t>(r.rsi);
  if (kept.inode == 0 || first > number || number > last) return passed_on(area);
  const Registers before = r;
  long result = 0;
  if (first < number) {
    r.rsi = number - 1;
    result = passed_on(area);
    r = before;
  }
  if (result == 0 && number < last) {
    r.rdi = number + 1;
    result = passed_on(area);
    r = before;
  }
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
      const long result = passed_on(area);
      if (area.registers.rdi == PR_SET_NAME && !failed(result)) send_name(area);
      if (area.registers.rdi == PR_SET_TSC) look_for_counter();
      return result;
    }
    case SYS_ptrace:
      prepare_ptrace(area);
      return passed_on(area);
    case SYS_unshare:
    case SYS_setns:
      return change_namespaces(area);
    case SYS_umount2:
      return unmount_call(area);
    case SYS_unlink:
    case SYS_unlinkat:
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2:
      return unname_call(area);
    case SYS_close:
      return is_line(area.registers.rdi) ? -EBADF : passed_on(area);
    case SYS_close_range:
      return close_range_call(area);
    case SYS_dup2:
    case SYS_dup3:
      if (is_line(area.registers.rsi)) move_line();
      return passed_on(area);
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
      if (is_against_engine(area.registers, area.taken[0])) return -EINVAL;
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
  const bool returns = area.registers.rax == SYS_rt_sigreturn;
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
  const long result = call(area, behind);
  if (result != kInterrupted) {
    area.registers.rax = static_cast<std::uint64_t>(result);
    stand_behind(area, behind);
    ip = behind;
  }
  area.ip = ip;
  if (is_ending(area)) stop_here(area);
  enter_at(area, ip);
}

}  // namespace hodo::engine
