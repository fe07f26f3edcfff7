// Where the engine begins: at the program's first instruction, or at a thread's.
#include <sys/mman.h>
#include <sys/syscall.h>

#include "cache.h"
#include "glue.h"
#include "signals.h"
#include "start_info.h"
#include "sys.h"
#include "thread_area.h"
#include "threads.h"

namespace hodo::engine {

extern "C" {
[[gnu::used]] StartInfo hodo_start_info;

[[noreturn]] void engine_main(std::uint64_t program_stack) {
  initialise_cache();
  ThreadArea& area = *make_area(nullptr);
  area.registers.rsp = program_stack;
  area.registers.flags = 0x202;
  initialise_signals(area);
  begin_thread(area, hodo_start_info.entry, 0);
  asm volatile("movq %0, %%r10\n\tjmp glue_resume" : : "r"(&area) : "memory");
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
    .skip 16384
    first_stack_top:
    .popsection
  )");
}
}
