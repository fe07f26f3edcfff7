#include "leave.h"

#include <sys/syscall.h>

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "code_pages.h"
#include "glue.h"
#include "held_faults.h"
#include "hodo/relay/engine_start.h"
#include "line.h"
#include "memory.h"
#include "memory_limits.h"
#include "output.h"
#include "signal_actions.h"
#include "signal_frame.h"
#include "sys.h"
#include "threads.h"
#include "trap_flag.h"

namespace hodo::engine {

extern "C" {
std::uint32_t hodo_leaving = 0;
void glue_park();
}

namespace {

constexpr std::int32_t kQueued = -1;  // SI_QUEUE

// The instruction that raised it is at area.ip still, and raises it again.
bool comes_by_itself(const WaitingSignal& signal) {
  const bool raised = is_raised_by_insn(signal.number, signal.info.code);
  return raised && signal.number != kTrap && signal.number != kSys;
}

void raise_again(const WaitingSignal& signal) {
  if (asks_to_leave(signal.number, signal.info) || comes_by_itself(signal)) return;
  raw_syscall(SYS_rt_tgsigqueueinfo, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid),
              signal.number, reinterpret_cast<long>(&signal.info));
}

// To what there is in the kernel of this thread.
void give_back_thread(ThreadArea& area) {
  close_output(area.output);
  relay::NativeThread& native = area.native_thread;
  native.dispatch = area.dispatch;  // the recorder's to give back: the engine makes more calls
  if (native.rseq == 0) return;
  raw_syscall(SYS_rseq, static_cast<long>(native.rseq), native.rseq_size, 0, native.rseq_signature);
}

}  // namespace

bool asks_to_leave(unsigned number, const KernelInfo& info) {
  std::uint64_t value = 0;
  __builtin_memcpy(&value, info.rest, sizeof(value));  // si_value
  return number == kTrap && info.code == kQueued && value == relay::kLeaveSignal;
}

bool is_leaving() { return __atomic_load_n(&hodo_leaving, __ATOMIC_ACQUIRE) != 0; }

void write_native_registers(ThreadArea& area) {
  const Registers& r = area.registers;
  relay::NativeThread& native = area.native_thread;
  native.rax = r.rax, native.rcx = r.rcx, native.rdx = r.rdx, native.rbx = r.rbx;
  native.rsp = r.rsp, native.rbp = r.rbp, native.rsi = r.rsi, native.rdi = r.rdi;
  native.r8 = r.r8, native.r9 = r.r9, native.r10 = area.taken[0], native.r11 = area.taken[1];
  native.r12 = r.r12, native.r13 = r.r13, native.r14 = r.r14, native.r15 = r.r15;
  native.flags = program_flags(area);
  native.rip = area.ip;
  native.saved = 1;
}

void leave_here(ThreadArea& area, const WaitingSignal& signal, std::uint64_t mask,
                KernelContext& context) {
  give_back_thread(area);
  return_to_program(area, context);
  context.mask = (mask & ~kFaults) | area.blocked_faults;
  context.stack = area.alternate;
  glue_park();
  // From here on signals are the program's own.
  set_mask(kAllSignals);
  raise_again(signal);
  for (std::uint32_t i = 0; i < area.waits; ++i) raise_again(area.waiting[i]);
  give_held_faults_to_kernel(area);
  // Not on the stack that the kernel is told to leave.
  constexpr std::uint64_t kRoom = 512;
  static_assert(sizeof(KernelContext) < kRoom);
  auto* elsewhere = reinterpret_cast<KernelContext*>(area.engine_stack - kRoom);
  *elsewhere = context;
  glue_restore_context(elsewhere);
}

extern "C" {

[[gnu::used]] const relay::NativeThread* leave_call(ThreadArea* area) {
  area->native_thread.restart = relay::kRestartBlock;  // for all that is known here
  give_back_thread(*area);
  raw_syscall(SYS_sigaltstack, reinterpret_cast<long>(&area->alternate), 0);
  write_native_registers(*area);
  relay::NativeThread& native = area->native_thread;
  native.rcx = native.rip;  // behind a system call
  native.r11 = native.flags;
  native.mask = area->blocked_faults;
  // Not by itself: it has to meet a breakpoint yet.
  static_assert(std::tuple_size_v<decltype(native.held)> ==
                std::extent_v<decltype(area->held_faults)>);
  for (std::size_t i = 0; i < native.held.size(); ++i) {
    const ThreadArea::HeldFault& one = area->held_faults[i];
    native.held[i] = one.number == 0 ? 0 : reinterpret_cast<std::uint64_t>(&one.info);
  }
  return &native;
}

[[gnu::used]] const KernelAction* give_back_program() {
  drop_line();
  give_back_memory_limits();
  unprotect_all();
  return restore_actions(actions_of_process());
}

[[gnu::naked]] void engine_leave_call(ThreadArea*) {
  asm volatile(R"(
    movq %c[stack](%%rdi), %%rsp
    xorl %%ebp, %%ebp
    call leave_call
    jmp glue_stop

    .globl engine_give_back
    engine_give_back:
    leaq first_stack_top(%%rip), %%rsp
    xorl %%ebp, %%ebp
    call give_back_program
    jmp glue_stop

    .globl engine_unmap, glue_unmapped
    engine_unmap:
    leaq first_stack_top(%%rip), %%rsp
    xorl %%ebp, %%ebp
    call unmap_all
    movl $-1, %%eax
    syscall
    glue_unmapped:
    hlt

    .globl hodo_area_bytes, hodo_area_native
    .set hodo_area_bytes, %c[block]
    .set hodo_area_native, %c[native]

    .globl glue_park, glue_parked
    glue_park:
    int3
    glue_parked:
    ret
  )" ::[stack] "i"(offsetof(ThreadArea, engine_stack)),
               [block] "i"(ThreadArea::kBlock), [native] "i"(offsetof(ThreadArea, native_thread)));
}

[[gnu::used]] void unmap_all() { unmap_all_but_image(); }

}  // extern "C"

}  // namespace hodo::engine
