#include "passed_call.h"

#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <span>

#include "call_results.h"
#include "code_pages.h"
#include "code_report.h"
#include "glue.h"
#include "held_faults.h"
#include "hodo/base/page.h"
#include "lock.h"
#include "mappings.h"
#include "memory.h"
#include "memory_limits.h"
#include "program_memory.h"
#include "sys.h"
#include "threads.h"

namespace hodo::engine {
namespace {

struct Range {
  std::uint64_t start = 0, bytes = 0;
};

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
  if ((protection_of(start) & PROT_EXEC) == 0) return;
  report_files(area, false);  // whatever had been written to it came along
  report_granted(area, start, r.rdx);
}

// With PROT_GROWSDOWN the rest of a stack below gets the rights, too (mprotect(2)).
bool takes_rest_along(const Registers& r) {
  const bool protects = r.rax == SYS_mprotect || r.rax == SYS_pkey_mprotect;
  return protects && (r.rdx & PROT_GROWSDOWN) != 0 && r.rsi != 0;
}

Range protected_range(const Registers& r) {
  const Mapping* const whole = takes_rest_along(r) ? find_mapping(r.rdi) : nullptr;
  if (whole == nullptr) return {r.rdi, r.rsi};
  return {whole->start, r.rdi - whole->start + r.rsi};
}

void got_rights(ThreadArea& area) {
  const Registers& r = area.registers;
  const std::uint32_t prot = rights(r.rdx & ~std::uint64_t{PROT_GROWSDOWN});
  const Range changed = protected_range(r);
  note_protected(changed.start, changed.bytes, prot);
  code_protected(changed.start, changed.bytes, prot);
  report_protected(area, changed.start, changed.bytes, prot);
  if ((prot & PROT_EXEC) != 0) report_granted(area, changed.start, changed.bytes);
}

// Newer than Debian 12's headers.
constexpr std::uint64_t kMseal = 462;
constexpr std::uint64_t kGuardInstall = 102;  // MADV_GUARD_INSTALL

// What children have had another advice on: they do not have it (MADV_DONTFORK), or empty. Those of
// which there was no room in the list are in the last range, with all between.
constexpr std::size_t kAdvices = 16;
Range not_inherited[kAdvices];
std::size_t not_inherited_count = 0;

void note_not_inherited(std::uint64_t start, std::uint64_t bytes) {
  for (const Range& known : std::span(not_inherited, not_inherited_count)) {
    if (start >= known.start && start - known.start + bytes <= known.bytes) return;
  }
  if (not_inherited_count < kAdvices) {
    not_inherited[not_inherited_count++] = {start, bytes};
    return;
  }
  Range& last = not_inherited[kAdvices - 1];
  const std::uint64_t end = std::max(last.start + last.bytes, start + bytes);
  last.start = std::min(last.start, start);
  last.bytes = end - last.start;
}

// Whether an advice leaves other contents than there were, or none.
bool replaces(std::uint64_t advice) {
  return advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED || advice == MADV_FREE ||
         advice == MADV_REMOVE || advice == kGuardInstall;
}

// process_madvise(2) with an advice that the kernel only takes for the caller's own memory.
bool replaces_parts(const Registers& r, std::uint64_t r10) {
  return r.rax == SYS_process_madvise && replaces(r10);
}

// Of such a call: visit(start, bytes) for each part of memory.
template <class Visit>
void each_part(const Registers& r, Visit visit) {
  constexpr std::uint64_t kMostParts = 1024;  // UIO_MAXIOV
  for (std::uint64_t i = 0; i < std::min(r.rdx, kMostParts); ++i) {
    std::uint64_t part[2];
    if (!read_program(part, r.rsi + i * sizeof(part), sizeof(part))) return;
    visit(part[0], part[1]);
  }
}

struct Ranges {
  Range of[2];
};

// The mappings that a call changes which are there before it, or needs as the program has them.
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
    case kMseal:  // nobody could give them back later
      return {{{r.rdi, r.rsi}, {}}};
    case SYS_madvise:
      if (r.rdx != MADV_POPULATE_WRITE) return {};
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
    if (r.rax == SYS_process_madvise) return each_part(r, code_replaced);
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
      if (replaces(r.rdx)) code_replaced(r.rdi, r.rsi);
      if (r.rdx == MADV_DONTFORK || r.rdx == MADV_WIPEONFORK) note_not_inherited(r.rdi, r.rsi);
      return;
    case SYS_process_madvise:
      return each_part(r, code_replaced);
    case kMseal:
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
    case kMseal:
      return Maps::at_once;
    case SYS_madvise:
      return replaces(r.rdx) && r.rdx != MADV_REMOVE ? Maps::at_once : Maps::something;
    case SYS_process_madvise:
      return replaces_parts(r, r10) ? Maps::at_once : Maps::nothing;
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
    case SYS_mmap: {
      const bool data = (r.rdx & kWritable) != 0 && (r10 & MAP_TYPE) == MAP_PRIVATE;
      return (r10 & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != MAP_FIXED &&
             exceeds_memory_limits(r.rsi, data ? Counts::data : Counts::addresses);
    }
    case SYS_mremap:
      return r.rdx > r.rsi && exceeds_memory_limits(r.rdx - r.rsi, Counts::data);
    case SYS_brk:
      return heap_end != 0 && r.rdi > heap_end &&
             exceeds_memory_limits(r.rdi - heap_end, Counts::heap);
    default:
      return false;
  }
}

void give_back_changed(const ThreadArea& area) {
  for (const Range& range : changed_mappings(area.registers, area.taken[0]).of) {
    if (range.bytes != 0) give_back_pages(range.start, range.bytes);
  }
}

// A signal that the program blocks and that is kept from here on does not end a call, nor does one
// that it ignores. Made again, it waits as long as it was asked to.
long make_call(ThreadArea& area) {
  for (;;) {
    const HeldInKernel held(area);  // from here on none is held
    const long result = glue_syscall(&area);
    const bool nothing_came = area.held_faults[0].number == 0 && !area.fault_dropped;
    if (result != -EINTR || nothing_came || area.waits != 0) return result;
  }
}

long map_at_once(ThreadArea& area) {
  const Locked locked;
  give_back_changed(area);
  if (takes_rest_along(area.registers)) {
    // How far it has grown. Behind the call the kernel no longer calls that part a stack.
    mappings_changed();
    find_mapping(area.registers.rdi);
  }
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

}  // namespace

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
  give_back_results(area);
  for (int i = 0;; ++i) {
    const long result = make_call(area);
    if (result != -EFAULT || i == kTries || !give_back_refused(area)) return result;
  }
}

void forget_not_inherited() {
  for (const Range& range : std::span(not_inherited, not_inherited_count)) {
    give_back_pages(range.start, range.bytes);
    forget(range.start, range.bytes);
  }
  if (not_inherited_count != 0) mappings_changed();
}

bool is_against_engine(const ThreadArea& area) {
  const Registers& r = area.registers;
  if (r.rax == SYS_madvise || r.rax == SYS_remap_file_pages) return is_own(r.rdi, r.rsi);
  if (replaces_parts(r, area.taken[0])) {
    bool any = false;
    each_part(r, [&any](auto start, auto bytes) { any = any || is_own(start, bytes); });
    return any;
  }
  const Ranges changed = changed_mappings(r, area.taken[0]);
  return std::any_of(std::begin(changed.of), std::end(changed.of), [](const Range& range) {
    return range.bytes != 0 && is_own(range.start, range.bytes);
  });
}

}  // namespace hodo::engine
