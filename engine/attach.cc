#include "attach.h"

#include <sys/syscall.h>

#include <cerrno>

#include "block_calls.h"
#include "channel.h"
#include "clock.h"
#include "code_report.h"
#include "edition.h"
#include "hodo/relay/engine_start.h"
#include "lock.h"
#include "mappings.h"
#include "memory.h"
#include "memory_limits.h"
#include "recording.h"
#include "seccomp.h"
#include "signal_actions.h"
#include "sys.h"
#include "thread_area.h"
#include "threads.h"
#include "trap_flag.h"

namespace hodo::engine {

extern "C" relay::StartInfo hodo_start_info;

namespace {

bool preparing = false;
bool files_told = false;

void fill(ThreadArea& area, relay::NativeThread& thread) {
  area.registers = {thread.rax, thread.rcx, thread.rdx, thread.rbx, thread.rsp,
                    thread.rbp, thread.rsi, thread.rdi, thread.r8,  thread.r9,
                    thread.r12, thread.r13, thread.r14, thread.r15, thread.flags};
  area.taken[0] = thread.r10;
  area.taken[1] = thread.r11;
  area.ip = thread.rip;
  set_trap_flag(area, thread.flags);
  area.stack = thread.rsp;
  area.first_mask = area.program_mask = thread.mask & ~kFaults;
  area.blocked_faults = thread.mask & kFaults;
  area.dispatch = thread.dispatch;
  thread.area = reinterpret_cast<std::uint64_t>(&area);
  thread.stack = area.engine_stack;
  area.native_thread = thread;
}

void look_for_recorder() {
  const long connection = connect_recorder();
  if (connection == -EMFILE && can_be_reached_apart()) return;
  if (connection < 0) {
    die(why_unreachable(connection), static_cast<std::uint64_t>(-connection));
  }
  raw_syscall(SYS_close, connection);
}

constexpr std::uint64_t kUnregister = 1;
bool was_attached = false;

void forget_rseq(const relay::NativeThread& thread) {
  if (thread.rseq == 0) return;
  raw_syscall(SYS_rseq, static_cast<long>(thread.rseq), thread.rseq_size, kUnregister,
              thread.rseq_signature);
}

}  // namespace

void fail_to_attach(const char* text, std::uint64_t value) {
  if (!preparing) return;
  asm volatile("jmp glue_stop" : : "a"(text), "d"(value) : "memory");
  __builtin_unreachable();
}

// As kernel/rseq.c has it.
long rseq_call(ThreadArea& area) {
  if (!was_attached) return -ENOSYS;
  const Registers& r = area.registers;
  relay::NativeThread& known = area.native_thread;
  const bool same = known.rseq == r.rdi && known.rseq_size == static_cast<std::uint32_t>(r.rsi);
  const auto signature = static_cast<std::uint32_t>(area.taken[0]);
  if (r.rdx == kUnregister || known.rseq != 0) {
    if (known.rseq == 0 || !same) return -EINVAL;
    if (known.rseq_signature != signature) return -EPERM;
    if (r.rdx != kUnregister) return -EBUSY;
    known.rseq = 0;
    return 0;
  }
  if (r.rdx != 0) return -EINVAL;
  known.rseq = r.rdi;
  known.rseq_size = static_cast<std::uint32_t>(r.rsi);
  known.rseq_signature = signature;
  return 0;
}

extern "C" {

// On the image's own stack, where there is no area.
[[gnu::used]] void engine_prepare() {
  const relay::StartInfo& start = hodo_start_info;
  preparing = true;
  note_own_image();
  raise_memory_limits();
  limit_cache(start.cache_bytes);
  begin_first_edition();
  note_own(start.threads, start.threads_bytes);
  look_for_counter();
  look_for_filter();
  auto* threads = reinterpret_cast<relay::NativeThread*>(start.threads);
  find_mapping(threads[0].rip);  // ends this if /proc is not to be had
  look_for_recorder();
  choose_tracing(*reinterpret_cast<const relay::Settings*>(start.settings));
  ThreadArea& first = make_needed_area(nullptr);
  fill(first, threads[0]);
  for (std::uint64_t i = 1; i < start.thread_count; ++i) fill(make_needed_area(&first), threads[i]);
  preparing = false;
  was_attached = true;
  read_actions(first);
  install_actions(first);
}

// On the area's own stack.
[[noreturn, gnu::used]] void engine_begin_attached(ThreadArea* area) {
  // Until here all signals are blocked: their handler needs its stack.
  raw_syscall(SYS_sigaltstack, 0, reinterpret_cast<long>(&area->alternate));
  area->alternate.flags &= ~KernelStack::kOn;
  begin_signals(*area);
  block_signals();
  forget_rseq(area->native_thread);
  const auto pid = static_cast<std::int32_t>(raw_syscall(SYS_getpid));
  const bool recorded = area->native_thread.recorded != 0;
  begin_recording(*area, recorded ? connect_recorder() : -1, relay::Start::attached, pid, pid);
  if (is_recorded(*area)) {
    const Locked locked;
    if (!files_told) report_files(*area, true);
    files_told = true;
  }
  begin_thread(*area, area->ip, false);
  set_mask(area->first_mask);
  asm volatile("movq %0, %%r10\n\tjmp glue_resume" : : "r"(area) : "memory");
  __builtin_unreachable();
}

[[gnu::naked]] void engine_attach() {
  asm volatile(R"(
    leaq first_stack_top(%rip), %rsp
    xorl %ebp, %ebp
    call engine_prepare
    xorl %eax, %eax
    .globl glue_stop, glue_stopped
    glue_stop:
    int3
    glue_stopped:
    hlt
  )");
}

}  // extern "C"

}  // namespace hodo::engine
