// Where the engine begins: at the program's first instruction, or at a thread's.
#include <sys/mman.h>
#include <sys/syscall.h>

#include "block_calls.h"
#include "channel.h"
#include "clock.h"
#include "code_report.h"
#include "edition.h"
#include "glue.h"
#include "hodo/relay/engine_start.h"
#include "lock.h"
#include "mappings.h"
#include "memory.h"
#include "memory_limits.h"
#include "recording.h"
#include "reserve.h"
#include "seccomp.h"
#include "signal_actions.h"
#include "sys.h"
#include "thread_area.h"
#include "threads.h"

namespace hodo::engine {

extern "C" {
[[gnu::used]] relay::StartInfo hodo_start_info;

// The recorder wrote an instruction over the program's first one and put that back, which left the
// process a copy of the page: gives it the file's again.
void undo_copy(std::uint64_t entry) {
  const Mapping* mapping = find_mapping(entry);
  if (mapping == nullptr || !mapping->file || (mapping->prot & PROT_WRITE) != 0) return;
  raw_syscall(SYS_madvise, static_cast<long>(entry & ~std::uint64_t{4095}), 4096, MADV_DONTNEED);
}

// On the area's own stack, which says whose code runs.
[[noreturn, gnu::used]] void engine_begin(ThreadArea* area) {
  initialise_signals(*area);
  take_over_line(hodo_start_info.line);
  begin_recording(*area, connect_recorder(), relay::Start::image, 0, 0);
  {
    const Locked locked;
    if (area->output.channel) choose_tracing(area->output.channel->settings());
    undo_copy(hodo_start_info.entry);
    report_files(*area, true);
  }
  begin_thread(*area, hodo_start_info.entry, true);
  asm volatile("movq %0, %%r10\n\tjmp glue_resume" : : "r"(area) : "memory");
  __builtin_unreachable();
}

[[noreturn]] void engine_main(std::uint64_t program_stack) {
  note_own_image();
  raise_memory_limits();
  make_reserve();
  limit_cache(hodo_start_info.cache_bytes);
  begin_first_edition();
  look_for_counter();
  look_for_filter();
  ThreadArea& area = make_needed_area(nullptr);
  area.registers.rsp = program_stack;
  area.registers.flags = 0x202;
  asm volatile("movq %0, %%rsp\n\tcall engine_begin"
               :
               : "r"(area.engine_stack), "D"(&area)
               : "memory");
  __builtin_unreachable();
}
}

}  // namespace hodo::engine

extern "C" {
[[gnu::naked]] void engine_start() {
  asm volatile(R"(
    movq %rsp, %rdi
    leaq first_stack_top(%rip), %rsp
    xorl %ebp, %ebp
    call engine_main
    .pushsection .bss
    .balign 64
    .skip 131072  # as much as in_own_files() takes
    .globl first_stack_top
    first_stack_top:
    .popsection
  )");
}
}
