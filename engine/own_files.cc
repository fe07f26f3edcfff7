#include "own_files.h"

#include <linux/sched.h>
#include <sys/syscall.h>

#include <cstdint>

#include "kernel_signal.h"
#include "line.h"
#include "signal_actions.h"
#include "sys.h"

namespace hodo::engine {
namespace {

struct Work {
  FileWork work;
  void* with;
  long keep;
};

// As many as work takes at a time: a connection, and what comes over it.
void make_room(long keep) {
  constexpr int kRoom = 4;
  constexpr long kLast = 1 << 10;
  int made = 0;
  for (long fd = 0; fd < kLast && made < kRoom; ++fd) {
    if (fd == keep || is_line(static_cast<std::uint64_t>(fd))) continue;
    if (!failed(raw_syscall(SYS_close, fd))) ++made;
  }
}

void do_work(Work* work) {
  make_room(work->keep);
  work->work(work->with);
}

// On the same block's stack, which tells whose code runs.
long run_apart(Work* work) {
  constexpr std::uint64_t kBelow = 64 << 10;  // what the caller may have of it
  constexpr std::uint64_t kFlags =
      CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_SYSVSEM | CLONE_THREAD | CLONE_VFORK;
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  long result = SYS_clone;
  register std::uint64_t tid_place asm("r10") = 0;
  register std::uint64_t storage asm("r8") = 0;
  asm volatile(R"(
    syscall
    testq %%rax, %%rax
    jnz 1f
    xorl %%ebp, %%ebp
    movq %[work], %%rdi
    call *%[begin]
    movl %[exit], %%eax
    xorl %%edi, %%edi
    syscall
    hlt
  1:
  )"
               : "+a"(result)
               : "D"(kFlags), "S"((here - kBelow) & ~std::uint64_t{63}), "d"(0), "r"(tid_place),
                 "r"(storage), [work] "r"(work), [begin] "r"(do_work), [exit] "i"(SYS_exit)
               : "rcx", "r11", "memory", "cc");
  return result;
}

}  // namespace

bool in_own_files(FileWork work, void* with, long keep) {
  Work apart{work, with, keep};
  const std::uint64_t mask = block_signals();
  set_mask(kAllSignals);  // nothing of the program's is delivered there
  const long made = run_apart(&apart);
  set_mask(mask);
  return !failed(made);
}

}  // namespace hodo::engine
