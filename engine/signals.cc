#include "signals.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "call_mask.h"
#include "code_32.h"
#include "code_pages.h"
#include "failure.h"
#include "glue.h"
#include "held_faults.h"
#include "insn_map.h"
#include "leave.h"
#include "lock.h"
#include "program_memory.h"
#include "recording.h"
#include "service.h"
#include "signal_actions.h"
#include "signal_frame.h"
#include "signal_place.h"
#include "sys.h"
#include "threads.h"
#include "tracing.h"
#include "trap_flag.h"

namespace hodo::engine {
namespace {

// The comparison in front of code that is checked.
bool reads_code(std::uint64_t rip) {
  return rip == address(glue_check_compare) || rip == address(glue_check_end) ||
         rip == address(glue_check_begin);
}

constexpr std::int32_t kSeccomp = 1;  // SYS_SECCOMP

// Whether the system call in front of this address is made for the program.
bool is_programs_call(std::uint64_t rip) {
  return rip == address(glue_syscall_done) || rip == address(glue_clone_done);
}

// Whether the signal has ended a system call of the program's.
bool ends_call(const KernelContext& context) {
  return context.rip == address(glue_syscall_done) &&
         context.rax == static_cast<std::uint64_t>(-EINTR);
}

// Raised by what the thread itself does. A program may say so of what it sends to itself, too
// (rt_sigqueueinfo, as handlers do that hand a fault on): that comes behind the call, where nothing
// but a filter of system calls raises a signal, with this address.
bool is_raised(unsigned number, const KernelInfo& info, const KernelContext& context) {
  if (!is_raised_by_insn(number, info.code)) return false;
  if (number == kSys) return info.address == context.rip;
  return !is_programs_call(context.rip);
}

WaitingSignal describe(const ThreadArea& area, unsigned number, const KernelInfo& info,
                       const KernelContext& context) {
  WaitingSignal made = {number,      context.error, context.trap,
                        context.cr2, info,          is_raised(number, info, context)};
  if (ends_call(context)) made.blocked_in_call = mask_of_call(area);
  if (made.raised && info.address == context.rip) made.info.address = area.ip;
  return made;
}

constexpr std::uint64_t kPageFault = 14;  // WaitingSignal::trap
constexpr std::int32_t kNotMapped = 1;    // SEGV_MAPERR

void add_fault(const WaitingSignal& signal, relay::EndRecord& end) {
  constexpr std::uint64_t kWrite = 2, kFetch = 16;  // of a page fault's error code
  if (!signal.raised || signal.trap != kPageFault) return;
  end.access = (signal.error & kFetch) != 0   ? relay::Access::execute
               : (signal.error & kWrite) != 0 ? relay::Access::write
                                              : relay::Access::read;
  end.unmapped = signal.number == kSegv && signal.info.code == kNotMapped ? 1 : 0;
  end.address = signal.info.address;
}

// Lets the kernel end the process, with the program's own registers for whoever looks at the core.
void end_by(ThreadArea& area, const WaitingSignal& signal, KernelContext& context) {
  stop_other_threads(area);
  if (writes_core(signal.number)) have_other_threads_shown(area);
  relay::EndRecord end{
      .signal = static_cast<std::int32_t>(signal.number), .ip_known = 1, .ip = area.ip};
  add_fault(signal, end);
  end_recording(area, &end);
  const KernelAction standard;
  kernel_action(signal.number, &standard, nullptr);
  set_mask(kAllSignals);  // it is to come behind the return, also where it is that of a fault
  raw_syscall(SYS_rt_tgsigqueueinfo, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid),
              signal.number, reinterpret_cast<long>(&signal.info));
  return_to_program(area, context);
  context.mask = kAllSignals & ~signal_bit(signal.number);
}

// The kernel is to block `mask` from here on: as soon as no signal waits any more.
void block(ThreadArea& area, std::uint64_t mask, KernelContext& context) {
  area.program_mask = context.mask = mask & ~kFaults;
  if (area.waits == 0) return;
  area.held_mask = context.mask;
  context.mask = ~kFaults;
  area.registers.flags |= eflags::kTf;
}

// A handler comes to a thread that stands at a system call which it has been in before it was
// attached to: arch/x86/kernel/signal.c, handle_signal().
void end_call(ThreadArea& area, const KernelAction& wanted) {
  const std::int32_t how = std::exchange(area.native_thread.restart, 0);
  if (how == 0 || how == relay::kRestartAlways) return;
  if (how == relay::kRestartSys && (wanted.flags & action::kRestart) != 0) return;
  constexpr std::uint64_t kSyscallBytes = 2;
  area.ip += kSyscallBytes;
  area.registers.rax = static_cast<std::uint64_t>(-EINTR);
  area.registers.rcx = area.ip;
  area.taken[1] = program_flags(area);
}

// What is raised where the frame of `signal` could not be written: kernel/signal.c, force_sig().
WaitingSignal frame_refused(const WaitingSignal& signal) {
  WaitingSignal made = signal;
  made.number = kSegv;
  made.info = {};
  made.info.number = kSegv;
  made.info.code = kByKernel;
  made.raised = true;
  return made;
}

// False: the handler's frame could not be written, nothing has changed.
bool begin_handler(ThreadArea& area, const KernelAction& wanted, const WaitingSignal& signal,
                   std::uint64_t before, KernelContext& context) {
  if (!push_frame(area, wanted, signal, before, context)) return false;
  std::uint64_t blocked = signal.blocked_in_call.value_or(before) | wanted.mask;
  if ((wanted.flags & action::kNoDefer) == 0) blocked |= signal_bit(signal.number);
  area.blocked_faults = blocked & kFaults;
  block(area, blocked, context);
  enter_at(area, area.ip);
  return_to_engine(area, context);
  return true;
}

// What is done on a signal; one that the thread has raised while it blocks it ends the process.
KernelAction action_on(ThreadArea& area, const WaitingSignal& signal) {
  const KernelAction wanted = take_action(area, signal.number);
  const bool blocked = (area.blocked_faults & signal_bit(signal.number)) != 0;
  return signal.raised && blocked ? KernelAction{} : wanted;
}

// What the kernel would do on the way back to user mode, where the program blocks `mask`. The
// registers are the program's, area.ip the next instruction. False: nothing, the signal is ignored.
// Else `context` leads on.
bool deliver(ThreadArea& area, const WaitingSignal& signal, std::uint64_t mask,
             KernelContext& context) {
  if (is_ending(area)) {
    trace_interruption(area, area.ip);
    stop_here(area);
  }
  if (area.leaves && is_leaving()) {
    trace_interruption(area, area.ip);
    leave_here(area, signal, mask, context);
  }
  const KernelAction wanted = action_on(area, signal);
  if (wanted.handler == kIgnore && !signal.raised) return false;
  if (wanted.handler == kDefault && !signal.raised && !is_ended_by(signal.number)) return false;
  trace_interruption(area, area.ip);
  const std::uint64_t before = (mask & ~kFaults) | area.blocked_faults;
  if (wanted.handler <= kIgnore) {
    end_by(area, signal, context);
    return true;
  }
  end_call(area, wanted);
  if (begin_handler(area, wanted, signal, before, context)) return true;
  const WaitingSignal refused = frame_refused(signal);
  const KernelAction next = signal.number == kSegv ? KernelAction{} : action_on(area, refused);
  if (next.handler <= kIgnore || !begin_handler(area, next, refused, before, context)) {
    end_by(area, refused, context);
  }
  return true;
}

// Only those of faults come while others wait, as they are never blocked in the kernel: on a busy
// machine faster than the thread steps on. Of each that is sent one waits, as in the kernel.
bool waits_already(const ThreadArea& area, const WaitingSignal& signal) {
  const auto* const end = area.waiting + area.waits;
  return !signal.raised && std::any_of(area.waiting, end, [&](const WaitingSignal& one) {
    return !one.raised && one.number == signal.number;
  });
}

void remember(ThreadArea& area, const WaitingSignal& signal, KernelContext& context) {
  // Whatever waits is delivered there, too.
  if (area.waits != 0 && asks_to_leave(signal.number, signal.info)) return;
  if (waits_already(area, signal)) return;
  if (area.waits == ThreadArea::kWaiting) die("too many signals wait", signal.number);
  // It may have come while the engine itself blocks all that it can.
  constexpr std::uint64_t kBlocked = ~kFaults & ~signal_bit(kKill) & ~signal_bit(kStop);
  const bool own = (context.mask & ~signal_bit(kKill) & ~signal_bit(kStop)) == kBlocked;
  if (area.waits == 0) area.held_mask = own ? area.program_mask : context.mask & ~kFaults;
  area.waiting[area.waits] = signal;
  __atomic_store_n(&area.waits, area.waits + 1, __ATOMIC_RELEASE);
  context.mask = ~kFaults;
}

// Steps on to where signals that wait can be delivered, or the program's own step ends.
void step_on(ThreadArea& area, Place place, KernelContext& context) {
  if (place == Place::engine) {
    area.registers.flags |= eflags::kTf;
    context.eflags &= ~eflags::kTf;
    if (area.waits > 0 && context.rip >= address(glue_syscall_check) &&
        context.rip < address(glue_syscall_done)) {
      context.rip = address(glue_syscall_interrupted);
    }
  } else {
    context.eflags |= eflags::kTf;
  }
}

// The registers are saved. Signals that came before the last wait for the first instruction of its
// handler. False: none of them comes to one, and the thread goes on.
bool deliver_waiting(ThreadArea& area, KernelContext& context) {
  while (area.waits > 0) {
    const WaitingSignal signal = area.waiting[--area.waits];
    if (deliver(area, signal, area.held_mask, context)) return true;
  }
  context.mask = area.held_mask;
  return false;
}

// The program's own single step has ended in front of area.ip.
bool deliver_step(ThreadArea& area, std::uint64_t mask, KernelContext& context) {
  WaitingSignal step{.number = kTrap, .trap = kDebugTrap, .cr2 = context.cr2, .raised = true};
  step.info.number = static_cast<std::int32_t>(kTrap);
  step.info.code = kTrapTrace;
  step.info.address = area.ip;
  return deliver(area, step, mask, context);
}

// What there is to be delivered at the beginning of an instruction: the trap behind the one before
// if that one was the program's own step, to `next`; else signals that wait. False: nothing.
bool deliver_at_insn(ThreadArea& area, std::optional<std::uint64_t> next, KernelContext& context) {
  if (!next) return area.waits > 0 && deliver_waiting(area, context);
  area.ip = *next;
  return deliver_step(area, area.waits > 0 ? area.held_mask : context.mask, context);
}

void stepped(ThreadArea& area, KernelContext& context) {
  if (std::exchange(area.unaligned, false)) {
    context.eflags |= eflags::kAc;
    if (area.waits == 0 && !is_stepping(area)) {
      context.eflags &= ~eflags::kTf;
      return;
    }
  }
  const Place place = place_of(context.rip);
  if (place == Place::cache && (context.eflags & eflags::kTf) == 0) clear_behind_insn(area);
  context.eflags &= ~eflags::kTf;
  if (place == Place::cache && save_exact(area, context)) {
    if (deliver_at_insn(area, executed_one(area, context.rip), context)) return;
  } else if (area.waits > 0 && place == Place::sequence && save_resuming(area, context)) {
    if (deliver_at_insn(area, executed_before(area, area.next), context)) return;
    step_if_wanted(area);
  }
  if (area.waits > 0 || is_stepping(area)) step_on(area, place, context);
}

// The thread has come to the head of a fragment that is none any more: trap_head().
void leave_fragment(ThreadArea& area, KernelContext& context) {
  --context.rip;
  if (!save_exact(area, context)) die("a breakpoint is none of its own", context.rip);
  if (area.waits > 0 && deliver_waiting(area, context)) return;
  go_on_traced(area, area.ip);
  return_to_engine(area, context);
}

// Single steps are asked for by the engine only; in what it makes nothing else raises a debug trap.
bool is_step(const KernelInfo& info, const KernelContext& context) {
  return info.number == static_cast<std::int32_t>(kTrap) && context.trap == kDebugTrap &&
         (info.code == kTrapTrace || info.code == kTrapUnknown);
}

// The same of the program's own instruction at `ip`, which may be INT1.
bool is_native_step(std::uint64_t ip, const KernelInfo& info, const KernelContext& context) {
  constexpr std::uint8_t kInt1 = 0xf1;
  if (!is_step(info, context)) return false;
  std::uint8_t first = 0;
  return info.code == kTrapTrace || !read_code(&first, ip, 1) || first != kInt1;
}

// Where the kernel has put a probe (uprobes) in the place of the program's instruction at `ip`, it
// steps that one itself, and tells of the step by a signal that the thread seems to have sent
// (arch_uprobe_post_xol(), arch_uprobe_skip_sstep()).
bool is_step_of_probe(const ThreadArea& area, const KernelInfo& info,
                      const KernelContext& context) {
  constexpr std::int32_t kSent = 0;  // SI_USER
  return info.number == static_cast<std::int32_t>(kTrap) && info.code == kSent &&
         static_cast<std::int32_t>(info.address) == area.pid && context.rip != area.ip &&
         (context.eflags & eflags::kTf) != 0;
}

bool is_breakpoint(const KernelInfo& info, const KernelContext& context) {
  return info.number == static_cast<std::int32_t>(kTrap) && info.code == kByKernel &&
         context.trap == kBreakpointTrap;
}

// The program's INT 0x80 is made elsewhere (call_by_interrupt()): as if it were at its own address.
// True: it is done.
bool has_interrupted(ThreadArea& area, KernelInfo& info, KernelContext& context) {
  const std::uint64_t made = context.rip - address(glue_interrupt);
  const std::uint64_t length = address(glue_interrupt_done) - address(glue_interrupt);
  if (area.interrupt == 0 || made > length + 1) return false;
  const bool done = made == length + 1 && is_breakpoint(info, context);
  area.ip = std::exchange(area.interrupt, 0);
  area.native_mask = context.mask;
  if (info.address == context.rip) info.address = area.ip + length;
  context.rip = area.ip + std::min(made, length);
  return done;
}

// A signal has come on the way to it. The registers are as the instruction would have found them.
void before_interrupt(ThreadArea& area, unsigned number, const KernelInfo& info,
                      KernelContext& context) {
  const std::uint64_t ip = std::exchange(area.interrupt, 0);
  area.native = 0;
  area.ip = ip;
  if (deliver(area, describe(area, number, info, context), context.mask, context)) return;
  area.ip = address(glue_interrupt);
  area.interrupt = ip;
  area.native = 1;
}

// False: it has come back, or raised a signal.
bool stays_in_code_32(ThreadArea& area, unsigned number, const KernelInfo& info,
                      KernelContext& context) {
  if (!is_code_32(context)) return false;
  if (is_step(info, context)) {
    step_code_32(area, context);
    return true;
  }
  if (is_raised(number, info, context)) return false;
  remember(area, describe(area, number, info, context), context);
  return true;
}

// The one instruction that ran natively is done (`interrupted`: has_interrupted()), or has raised a
// signal.
void native_done(ThreadArea& area, unsigned number, const KernelInfo& info, bool interrupted,
                 KernelContext& context) {
  if (!interrupted && stays_in_code_32(area, number, info, context)) return;
  area.native = 0;
  const bool step = interrupted || is_native_step(area.ip, info, context) ||
                    is_step_of_probe(area, info, context);
  const bool wanted = step && is_stepping(area);
  if (step && loads_flags(area.ip)) set_trap_flag(area, context.eflags);
  save_native_registers(area, context);
  area.outcomes = unit::InlinePt::kNoOutcomes;
  const std::uint64_t mask = area.waits > 0 ? area.held_mask : area.native_mask;
  if (!step && deliver(area, describe(area, number, info, context), mask, context)) return;
  if (wanted && deliver_step(area, mask, context)) return;
  block(area, mask, context);
  enter_at(area, area.ip);
  return_to_engine(area, context);
}

// What the kernel says of a branch to where nothing is mapped (do_user_addr_fault).
WaitingSignal fetched_from_nowhere(std::uint64_t ip) {
  constexpr std::uint64_t kFetchByUser = 0x14;
  WaitingSignal made{
      .number = kSegv, .error = kFetchByUser, .trap = kPageFault, .cr2 = ip, .raised = true};
  made.info.number = static_cast<std::int32_t>(kSegv);
  made.info.code = kNotMapped;
  made.info.address = ip;
  return made;
}

// The program was to go on where no address is, as after a signal frame that says so. The kernel
// has it stand there, too.
void native_refused(ThreadArea& area, unsigned number, const KernelInfo& info,
                    KernelContext& context) {
  area.native = 0;
  area.registers.flags &= ~eflags::kTf;
  WaitingSignal signal = describe(area, number, info, context);
  if (const std::uint64_t ip = std::exchange(area.own_target, 0); ip != 0) {
    area.ip = ip;
    signal = fetched_from_nowhere(ip);
  }
  const std::uint64_t mask = area.waits > 0 ? area.held_mask : area.native_mask;
  deliver(area, signal, mask, context);
}

// Runs the instruction natively whose registers are saved, without the engine's code seeing it.
void step_natively(ThreadArea& area, KernelContext& context) {
  trace_interruption(area, area.ip);
  step_in_program(area, context);
}

[[noreturn]] void die_of_fault(const KernelInfo& info, const KernelContext& context, Place place) {
  if (place == Place::cache) {
    die_of_signal(info, context, "what stands behind its code for",
                  last_fragment_locked(context.rip));
  }
  die_of_signal(info, context,
                place == Place::engine     ? "itself"
                : place == Place::sequence ? "its way to and from the program"
                                           : "code that is not its own",
                0);
}

// The kernel could not restore all of what a frame says that the program returns by, and has what
// it could.
bool was_wrong_frame(const KernelInfo& info, const KernelContext& context) {
  const auto number = static_cast<unsigned>(info.number);  // SIGBUS: a stack segment not present
  return (number == kSegv || number == kBus) && info.code == kByKernel &&
         context.rip == address(glue_resume);
}

// A write to a page that is protected because code of it has been translated. False: it is not.
bool was_write_to_code(ThreadArea& area, const KernelInfo& info, Place place,
                       KernelContext& context) {
  constexpr std::uint64_t kWrite = 2;  // of the page fault's error code
  constexpr std::int32_t kAccess = 2;  // SEGV_ACCERR
  if (info.code != kAccess || (context.error & kWrite) == 0) return false;
  bool stale = false;
  {
    const Locked locked;
    InsnPlace insn;
    if (place == Place::cache) find_insn(context.rip, insn);
    if (!code_written(info.address, insn.head, stale)) return false;
  }
  // What it writes may be what runs next.
  if (stale && save_faulted(area, context)) step_natively(area, context);
  return true;
}

}  // namespace

void engine_signal(int number, KernelInfo* info, KernelContext* context) {
  ThreadArea& area = current_area();
  const auto signal = static_cast<unsigned>(number);
  if (asks_to_leave(signal, *info)) area.leaves = true;
  const bool interrupted = has_interrupted(area, *info, *context);
  const Place place = place_of(context->rip);
  const bool raised = is_raised(signal, *info, *context);
  if (raised && signal == kSegv && was_write_to_code(area, *info, place, *context)) return;
  if (place == Place::program && area.native != 0) {
    return native_done(area, signal, *info, interrupted, *context);
  }
  if (area.interrupt != 0 && !raised) return before_interrupt(area, signal, *info, *context);
  if (area.native != 0 && context->rip == address(glue_native_return)) {
    return native_refused(area, signal, *info, *context);
  }
  if (raised && is_step(*info, *context)) return stepped(area, *context);
  if (place == Place::cache && is_breakpoint(*info, *context)) {
    return leave_fragment(area, *context);
  }
  if (raised && signal == kSys && info->code == kSeccomp && place == Place::engine &&
      !is_programs_call(context->rip)) {
    context->rax = static_cast<std::uint64_t>(-ENOSYS);  // a filter of the program's forbids it
    return;
  }
  const bool fault = raised && signal != kSys;
  if (fault && context->rip == address(glue_copy_insn)) {
    context->rip = address(glue_copy_failed);
    return;
  }
  if (fault && reads_code(context->rip)) {
    context->rip = address(glue_check_changed);
    return;
  }
  // With EFLAGS.AC the program asks for faults of its own accesses, not of the engine's.
  constexpr std::int32_t kAlignment = 1;  // BUS_ADRALN
  InsnPlace insn;
  if (fault && signal == kBus && info->code == kAlignment && place != Place::program &&
      (place != Place::cache || !find_insn_locked(context->rip, insn))) {
    context->eflags &= ~eflags::kAc;
    if (place == Place::engine) return;  // the program's flags are saved
    area.unaligned = true;
    context->eflags |= eflags::kTf;
    return;
  }
  if (fault) {
    if (was_wrong_frame(*info, *context)) {
      // The program's state is where sigreturn_call() has put it.
    } else if (place == Place::program && context->rip == 0) {
      const bool dropped = context->rax != 0 && ~context->rax != 0;  // forget_landings()
      if (dropped) {
        context->rip = address(glue_miss);
        return;
      }
      save_at_nothing(area, *context);
    } else if (place != Place::cache || !save_faulted(area, *context)) {
      die_of_fault(*info, *context, place);
    }
    const std::uint64_t mask = area.waits > 0 ? area.held_mask : context->mask;
    deliver(area, describe(area, signal, *info, *context), mask, *context);
    return;
  }
  if (!raised && hold_fault(area, signal, *info, context->mask)) return;
  if (!raised && drop_ignored_fault(area, signal, *info)) return;
  const WaitingSignal here = describe(area, signal, *info, *context);
  if (area.waits == 0 && ((place == Place::cache && save_exact(area, *context)) ||
                          (place == Place::sequence && save_resuming(area, *context)))) {
    deliver(area, here, context->mask, *context);
    return;
  }
  remember(area, here, *context);
  step_on(area, place, *context);
}

}  // namespace hodo::engine
