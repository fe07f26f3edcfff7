#include "signals.h"

#include <signal.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "code_pages.h"
#include "failure.h"
#include "glue.h"
#include "hodo/isa/encoding.h"
#include "insn_map.h"
#include "leave.h"
#include "lock.h"
#include "program_memory.h"
#include "recording.h"
#include "service.h"
#include "signal_frame.h"
#include "stand_ins.h"
#include "sys.h"
#include "threads.h"
#include "tracing.h"

namespace hodo::engine {

extern "C" {
void engine_signal(int number, const KernelInfo* info, KernelContext* context);
extern const char __executable_start[], _end[];
}

namespace {

constexpr std::size_t kSetBytes = 8;

bool is_fault(unsigned number) { return (signal_bit(number) & kFaults) != 0; }

std::uint64_t address(void (*of)()) { return reinterpret_cast<std::uint64_t>(of); }

// Does the default action end the process?
bool ends_by_default(unsigned number) {
  switch (number) {
    case kChild:
    case kContinue:
    case kUrgent:
    case kWindow:
    case kStop:
    case kTerminalStop:
    case kTerminalIn:
    case kTerminalOut:
      return false;
    default:
      return true;
  }
}

long kernel_action(unsigned number, const KernelAction* to, KernelAction* old) {
  return raw_syscall(SYS_rt_sigaction, number, reinterpret_cast<long>(to),
                     reinterpret_cast<long>(old), kSetBytes);
}

// Asks the kernel for the engine where the signal can change what the program does, or end it.
long install(unsigned number, const KernelAction& wanted) {
  using namespace action;
  const bool ours = is_fault(number) || wanted.handler > kIgnore ||
                    (wanted.handler == kDefault && ends_by_default(number));
  KernelAction to = wanted;
  if (ours) {
    to.handler = reinterpret_cast<std::uint64_t>(&engine_signal);
    to.flags = kSigInfo | kOnStack | kRestorer | kNoDefer |
               (wanted.flags & (kRestart | kNoChildStop | kNoChildWait));
    to.restorer = address(glue_restorer);
    to.mask = ~kFaults;
  }
  return kernel_action(number, &to, nullptr);
}

// --- where a thread stands ---

enum class Place { program, cache, sequence, engine };

Place place_of(std::uint64_t ip) {
  if (ip >= address(glue_begin) && ip < address(glue_end)) return Place::sequence;
  if (ip >= reinterpret_cast<std::uint64_t>(__executable_start) &&
      ip < reinterpret_cast<std::uint64_t>(_end)) {
    return Place::engine;
  }
  return in_cache(ip) ? Place::cache : Place::program;
}

bool find_insn_locked(std::uint64_t at, InsnPlace& place) {
  const Locked locked;
  return find_insn(at, place);
}

std::uint64_t last_fragment_locked(std::uint64_t at) {
  const Locked locked;
  return last_fragment(at);
}

unsigned readable_bytes_locked(std::uint64_t ip) {
  const Locked locked;
  return readable_bytes(ip);
}

// At the beginning of an instruction's copy the registers are the program's. False: it stands
// elsewhere.
bool save_exact(ThreadArea& area, const KernelContext& context) {
  InsnPlace place;
  if (!find_insn_locked(context.rip, place) || !place.exact) return false;
  save_registers(area, context);
  area.ip = place.ip;
  area.in_block = !place.first;
  area.outcomes = context.r11 << place.zeros;
  return true;
}

// On the way from the engine to an instruction's copy they are in the area still.
bool save_resuming(ThreadArea& area, const KernelContext& context) {
  if (context.rip < address(glue_resume) || context.rip >= address(glue_end)) return false;
  InsnPlace place;
  if (!find_insn_locked(area.next, place) || !place.exact) return false;
  area.registers.flags &= ~eflags::kTf;
  area.ip = place.ip;
  area.in_block = !place.first;
  area.outcomes <<= place.zeros;
  return true;
}

std::uint64_t& by_number(Registers& r, unsigned reg) {
  std::uint64_t* const all[16] = {&r.rax, &r.rcx, &r.rdx,  &r.rbx,  &r.rsp, &r.rbp, &r.rsi, &r.rdi,
                                  &r.r8,  &r.r9,  nullptr, nullptr, &r.r12, &r.r13, &r.r14, &r.r15};
  return *all[reg];
}

// A copy has raised a fault, perhaps in the midst of what was put around it: as the registers were
// before.
bool save_faulted(ThreadArea& area, const KernelContext& context) {
  InsnPlace place;
  if (!find_insn_locked(context.rip, place)) return false;
  save_registers(area, context);
  area.ip = place.ip;
  area.in_block = true;
  area.outcomes = context.r11 << place.zeros;
  std::uint8_t code[16];
  const unsigned bytes = readable_bytes_locked(place.ip);
  if (!read_program(code, place.ip, bytes)) return true;
  const isa::Encoding e = isa::decode_encoding(code, bytes);
  const bool spilled = e.cls == isa::InsnClass::ret || e.cls == isa::InsnClass::icall ||
                       e.cls == isa::InsnClass::ijmp;
  if (spilled) {
    area.outcomes = context.r11;
    area.registers.rax = area.spill[0];
    area.registers.rcx = area.spill[1];
  }
  const StandIns stand = stand_ins(e);
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned reg = stand.of[i].reg;
    if (reg != StandIns::kNone) by_number(area.registers, reg) = area.scratch[i];
  }
  return true;
}

// An empty place in the tables of targets says that address 0 has its landing at 0: a branch there
// has got this far. RAX has the target.
void save_at_nothing(ThreadArea& area, const KernelContext& context) {
  save_registers(area, context);
  area.ip = context.rax;
  area.outcomes = context.r11;
  trace_branch(area, area.ip);
  area.registers.rax = area.spill[0];
  area.registers.rcx = area.spill[1];
}

// --- delivery ---

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

WaitingSignal describe(const ThreadArea& area, unsigned number, const KernelInfo& info,
                       const KernelContext& context) {
  WaitingSignal made = {number, context.error, context.trap, context.cr2, info};
  const bool names_itself = info.code > 0 && info.address == context.rip;
  if (names_itself || (number == kSys && info.code == kSeccomp)) made.info.address = area.ip;
  return made;
}

// Lets the kernel end the process, with the program's own registers for whoever looks at the core.
void end_by(ThreadArea& area, const WaitingSignal& signal, KernelContext& context) {
  stop_other_threads(area);
  const relay::EndRecord end{
      .signal = static_cast<std::int32_t>(signal.number), .ip_known = 1, .ip = area.ip};
  end_recording(area, &end);
  const KernelAction standard;
  kernel_action(signal.number, &standard, nullptr);
  set_mask(kAllSignals);  // it is to come behind the return, also where it is that of a fault
  raw_syscall(SYS_rt_tgsigqueueinfo, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid),
              signal.number, reinterpret_cast<long>(&signal.info));
  return_to_program(area, context);
  context.mask = kAllSignals & ~signal_bit(signal.number);
}

KernelAction take_action(ThreadArea& area, unsigned number) {
  const Locked locked;
  KernelAction& wanted = area.actions->of[number];
  const KernelAction found = wanted;
  if (found.handler > kIgnore && (found.flags & action::kResetHandler) != 0) {
    wanted = {};
    install(number, wanted);
  }
  return found;
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
  constexpr std::int32_t kRestartSys = 512, kRestartAlways = 513;  // ERESTARTSYS, ERESTARTNOINTR
  const std::int32_t how = std::exchange(area.native_thread.restart, 0);
  if (how == 0 || how == kRestartAlways) return;
  if (how == kRestartSys && (wanted.flags & action::kRestart) != 0) return;
  constexpr std::uint64_t kSyscallBytes = 2;
  area.ip += kSyscallBytes;
  area.registers.rax = static_cast<std::uint64_t>(-EINTR);
  area.registers.rcx = area.ip;
  area.taken[1] = area.registers.flags;
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
  if (is_leaving()) {
    trace_interruption(area, area.ip);
    leave_here(area, signal, mask, context);
  }
  const bool fault = is_fault(signal.number) && signal.info.code > 0;
  KernelAction wanted = take_action(area, signal.number);
  if (fault && (area.blocked_faults & signal_bit(signal.number)) != 0) wanted = {};
  if (wanted.handler == kIgnore && !fault) return false;
  if (wanted.handler == kDefault && !fault && !ends_by_default(signal.number)) return false;
  trace_interruption(area, area.ip);
  const std::uint64_t before = (mask & ~kFaults) | area.blocked_faults;
  if (wanted.handler <= kIgnore) {
    end_by(area, signal, context);
    return true;
  }
  end_call(area, wanted);
  if (!push_frame(area, wanted, signal, before, context)) {
    WaitingSignal overflow = signal;
    overflow.number = kSegv;
    overflow.info = {};
    overflow.info.number = kSegv;
    overflow.info.code = 0x80;  // SI_KERNEL
    end_by(area, overflow, context);
    return true;
  }
  std::uint64_t blocked = before | wanted.mask;
  if ((wanted.flags & action::kNoDefer) == 0) blocked |= signal_bit(signal.number);
  area.blocked_faults = blocked & kFaults;
  block(area, blocked, context);
  enter_at(area, area.ip);
  return_to_engine(area, context);
  return true;
}

void remember(ThreadArea& area, const WaitingSignal& signal, KernelContext& context) {
  if (area.waits != 0 && asks_to_leave(signal)) return;  // whatever waits is delivered there, too
  if (area.waits == ThreadArea::kWaiting) die("too many signals wait", signal.number);
  // It may have come while the engine itself blocks all that it can.
  constexpr std::uint64_t kBlocked = ~kFaults & ~signal_bit(kKill) & ~signal_bit(kStop);
  const bool own = (context.mask & ~signal_bit(kKill) & ~signal_bit(kStop)) == kBlocked;
  if (area.waits == 0) area.held_mask = own ? area.program_mask : context.mask;
  area.waiting[area.waits] = signal;
  __atomic_store_n(&area.waits, area.waits + 1, __ATOMIC_RELEASE);
  context.mask = ~kFaults;
}

// Steps on to where signals that wait can be delivered.
void step_on(ThreadArea& area, Place place, KernelContext& context) {
  if (place == Place::engine) {
    area.registers.flags |= eflags::kTf;
    context.eflags &= ~eflags::kTf;
    if (context.rip >= address(glue_syscall_check) && context.rip < address(glue_syscall_done)) {
      context.rip = address(glue_syscall_interrupted);
    }
  } else {
    context.eflags |= eflags::kTf;
  }
}

// The registers are saved. Signals that came before the last wait for the first instruction of its
// handler.
void deliver_waiting(ThreadArea& area, KernelContext& context) {
  while (area.waits > 0) {
    const WaitingSignal signal = area.waiting[--area.waits];
    if (deliver(area, signal, area.held_mask, context)) return;
  }
  context.mask = area.held_mask;
}

void stepped(ThreadArea& area, KernelContext& context) {
  const Place place = place_of(context.rip);
  context.eflags &= ~eflags::kTf;
  if (area.waits == 0) return;
  if ((place == Place::cache && save_exact(area, context)) ||
      (place == Place::sequence && save_resuming(area, context))) {
    return deliver_waiting(area, context);
  }
  step_on(area, place, context);
}

// The thread has come to the head of a fragment that is none any more: trap_head().
void leave_fragment(ThreadArea& area, KernelContext& context) {
  --context.rip;
  if (!save_exact(area, context)) die("a breakpoint is none of its own", context.rip);
  if (area.waits > 0) return deliver_waiting(area, context);
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
  return info.code == kTrapTrace || !read_program(&first, ip, 1) || first != kInt1;
}

// The one instruction that ran natively is done, or has raised a signal.
void native_done(ThreadArea& area, unsigned number, const KernelInfo& info,
                 KernelContext& context) {
  area.native = 0;
  const bool step = is_native_step(area.ip, info, context);
  save_native_registers(area, context);
  area.outcomes = unit::InlinePt::kNoOutcomes;
  const std::uint64_t mask = area.waits > 0 ? area.held_mask : area.native_mask;
  if (!step && deliver(area, describe(area, number, info, context), mask, context)) return;
  block(area, mask, context);
  enter_at(area, area.ip);
  return_to_engine(area, context);
}

// The program was to go on where no address is, as after a signal frame that says so. The kernel
// has it stand there, too.
void native_refused(ThreadArea& area, unsigned number, const KernelInfo& info,
                    KernelContext& context) {
  area.native = 0;
  area.registers.flags &= ~eflags::kTf;
  const std::uint64_t mask = area.waits > 0 ? area.held_mask : area.native_mask;
  deliver(area, describe(area, number, info, context), mask, context);
}

// Runs the instruction natively whose registers are saved, without the engine's code seeing it.
void step_natively(ThreadArea& area, KernelContext& context) {
  trace_interruption(area, area.ip);
  area.native_mask = context.mask;
  area.native = 1;
  context.mask = ~kFaults;
  return_to_program(area, context);
  context.eflags |= eflags::kTf;
}

bool is_on_alternate(const ThreadArea& area) {
  return area.alternate.holds(area.registers.rsp) &&
         (area.alternate.flags & KernelStack::kAutoDisarm) == 0;
}

// As the kernel's do_sigaltstack(): 0, or why not.
long set_alternate(ThreadArea& area, KernelStack wanted) {
  constexpr std::uint64_t kLeast = 2048;  // MINSIGSTKSZ
  if (is_on_alternate(area)) return -EPERM;
  const std::uint32_t mode = wanted.flags & ~KernelStack::kAutoDisarm;
  if (mode > KernelStack::kDisabled) return -EINVAL;
  if (mode == KernelStack::kDisabled) {
    wanted.start = wanted.size = 0;
  } else if (wanted.size < kLeast) {
    return -ENOMEM;
  } else {
    wanted.flags &= ~KernelStack::kOn;
  }
  area.alternate = wanted;
  return 0;
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

extern "C" void engine_signal(int number, const KernelInfo* info, KernelContext* context) {
  ThreadArea& area = current_area();
  const auto signal = static_cast<unsigned>(number);
  const Place place = place_of(context->rip);
  if (signal == kSegv && was_write_to_code(area, *info, place, *context)) return;
  if (place == Place::program && area.native != 0) {
    return native_done(area, signal, *info, *context);
  }
  if (area.native != 0 && context->rip == address(glue_native_return)) {
    return native_refused(area, signal, *info, *context);
  }
  if (is_step(*info, *context)) return stepped(area, *context);
  if (signal == kTrap && context->trap == kBreakpointTrap && place == Place::cache) {
    return leave_fragment(area, *context);
  }
  if (signal == kSys && info->code == kSeccomp && place == Place::engine &&
      !is_programs_call(context->rip)) {
    context->rax = static_cast<std::uint64_t>(-ENOSYS);  // a filter of the program's forbids it
    return;
  }
  const bool raised = is_fault(signal) && info->code > 0 && signal != kSys;
  if (raised && context->rip == address(glue_copy_insn)) {
    context->rip = address(glue_copy_failed);
    return;
  }
  if (raised && reads_code(context->rip)) {
    context->rip = address(glue_check_changed);
    return;
  }
  // With EFLAGS.AC the program asks for faults of its own accesses, not of the engine's.
  constexpr std::int32_t kAlignment = 1;  // BUS_ADRALN
  InsnPlace insn;
  if (raised && signal == kBus && info->code == kAlignment && place != Place::program &&
      (place != Place::cache || !find_insn_locked(context->rip, insn))) {
    context->eflags &= ~eflags::kAc;
    return;
  }
  if (raised) {
    if (place == Place::program && context->rip == 0) {
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
  const WaitingSignal here = describe(area, signal, *info, *context);
  if (area.waits == 0 && ((place == Place::cache && save_exact(area, *context)) ||
                          (place == Place::sequence && save_resuming(area, *context)))) {
    deliver(area, here, context->mask, *context);
    return;
  }
  remember(area, here, *context);
  step_on(area, place, *context);
}

void install_actions(const ThreadArea& area) {
  for (unsigned number = 1; number <= kSignals; ++number) {
    if (number != kKill && number != kStop) install(number, area.actions->of[number]);
  }
}

void read_actions(ThreadArea& area) {
  for (unsigned number = 1; number <= kSignals; ++number) {
    kernel_action(number, nullptr, &area.actions->of[number]);
  }
}

const KernelAction* restore_actions(const SignalActions& actions) {
  for (unsigned number = 1; number <= kSignals; ++number) {
    if (number != kKill && number != kStop && number != kTrap) {
      kernel_action(number, &actions.of[number], nullptr);
    }
  }
  return &actions.of[kTrap];
}

void initialise_signals(ThreadArea& area) {
  read_actions(area);
  std::uint64_t mask = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, reinterpret_cast<long>(&mask), kSetBytes);
  area.blocked_faults = mask & kFaults;
  begin_signals(area);
  area.program_mask = mask & ~kFaults;
  set_mask(area.program_mask);
  install_actions(area);
}

void reset_handlers(SignalActions& actions) {
  for (KernelAction& one : actions.of) {
    if (one.handler > kIgnore) one = {};
  }
}

void begin_signals(ThreadArea& area) {
  KernelStack stack;
  stack.start = area.handler_stack();
  stack.flags = 0;
  stack.size = ThreadArea::kHandlerStackBytes;
  raw_syscall(SYS_sigaltstack, reinterpret_cast<long>(&stack), 0);
}

std::uint64_t block_signals() {
  const std::uint64_t all = ~kFaults;
  std::uint64_t before = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&all),
              reinterpret_cast<long>(&before), kSetBytes);
  return before;
}

void set_mask(std::uint64_t mask) {
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&mask), 0, kSetBytes);
}

long sigaction_call(ThreadArea& area) {
  const Registers& r = area.registers;
  const std::uint64_t number = r.rdi, to = r.rsi, old = r.rdx;
  if (area.taken[0] != kSetBytes || number < 1 || number > kSignals) return -EINVAL;
  KernelAction wanted;
  if (to != 0) {
    if (!read_program(&wanted, to, sizeof wanted)) return -EFAULT;
    if (number == kKill || number == kStop) return -EINVAL;
    wanted.mask &= ~(signal_bit(kKill) | signal_bit(kStop));
  }
  const std::uint64_t mask = block_signals();
  KernelAction before;
  {
    const Locked locked;
    before = area.actions->of[number];
    if (to != 0) {
      area.actions->of[number] = wanted;
      install(static_cast<unsigned>(number), wanted);
    }
  }
  set_mask(mask);
  if (old != 0 && !write_program(old, &before, sizeof before)) return -EFAULT;
  return 0;
}

long sigprocmask_call(ThreadArea& area) {
  const Registers& r = area.registers;
  std::uint64_t set = 0;
  if (area.taken[0] != kSetBytes) return -EINVAL;
  if (r.rsi != 0 && !read_program(&set, r.rsi, sizeof set)) return -EFAULT;
  if (r.rsi != 0 && r.rdi > SIG_SETMASK) return -EINVAL;
  const std::uint64_t kernel = block_signals();
  if (area.waits != 0) {  // it came first; the mask is not the program's
    set_mask(kernel);
    return kInterrupted;
  }
  const std::uint64_t before = kernel | area.blocked_faults;
  std::uint64_t after = before;
  if (r.rsi != 0) {
    set &= ~(signal_bit(kKill) | signal_bit(kStop));
    after = r.rdi == SIG_BLOCK ? before | set : r.rdi == SIG_UNBLOCK ? before & ~set : set;
  }
  area.blocked_faults = after & kFaults;
  area.program_mask = after & ~kFaults;
  set_mask(area.program_mask);
  if (r.rdx != 0 && !write_program(r.rdx, &before, sizeof before)) return -EFAULT;
  return 0;
}

long sigaltstack_call(ThreadArea& area) {
  const Registers& r = area.registers;
  KernelStack before = area.alternate;
  if (is_on_alternate(area)) before.flags |= KernelStack::kOn;
  if (r.rdi != 0) {
    KernelStack wanted;
    if (!read_program(&wanted, r.rdi, sizeof wanted)) return -EFAULT;
    if (const long refused = set_alternate(area, wanted); refused != 0) return refused;
  }
  if (r.rsi != 0 && !write_program(r.rsi, &before, sizeof before)) return -EFAULT;
  return 0;
}

long sigreturn_call(ThreadArea& area) {
  const std::uint64_t mask = block_signals();
  if (area.waits != 0) {  // it came first
    set_mask(mask);
    return kInterrupted;
  }
  // Not on the stack that the kernel is told to leave.
  static_assert(sizeof(KernelContext) < 512);
  KernelContext context;
  if (!read_program(&context, area.registers.rsp, sizeof context)) {
    const KernelAction standard;  // as the kernel, which forces it
    kernel_action(kSegv, &standard, nullptr);
    raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), kSegv);
  }
  set_alternate(area, context.stack);  // what a frame says wrong counts for nothing
  save_native_registers(area, context);
  enter_at(area, area.ip);
  area.blocked_faults = context.mask & kFaults;
  context.mask &= ~kFaults;
  area.program_mask = context.mask;
  context.stack.start = area.handler_stack();
  context.stack.flags = 0;
  context.stack.size = ThreadArea::kHandlerStackBytes;
  return_to_engine(area, context);
  glue_restore_context(&context);
}

namespace {

// Goes on natively at `ip`, for one instruction.
[[noreturn]] void go_native(ThreadArea& area, std::uint64_t ip) {
  trace_interruption(area, ip);
  area.native_mask = block_signals();
  area.ip = ip;
  area.registers.flags |= eflags::kTf;
  area.native = 1;
  glue_native(&area);
}

}  // namespace

void run_native(ThreadArea& area, std::uint64_t ip) {
  area.in_block = false;  // a fragment ends in front of it
  go_native(area, ip);
}

void run_interrupt(ThreadArea& area, std::uint64_t ip, std::uint64_t behind) {
  area.in_block = false;
  trace_interruption(area, behind);
  go_native(area, ip);
}

void refuse_branch(ThreadArea& area) {
  const std::uint64_t ip = *reinterpret_cast<const std::uint64_t*>(std::uint64_t{area.branch});
  std::uint8_t code[16];
  const unsigned bytes = readable_bytes_locked(ip);
  if (!read_program(code, ip, bytes)) die("a branch cannot be read", ip);
  const isa::Encoding e = isa::decode_encoding(code, bytes);
  std::uint64_t& rsp = area.registers.rsp;
  if (e.cls == isa::InsnClass::icall) rsp += 8;
  if (e.cls == isa::InsnClass::ret) {
    std::uint16_t more = 0;
    if (e.imm_size == sizeof more) std::memcpy(&more, code + e.imm_at, sizeof more);
    rsp -= 8 + std::uint64_t{more};
  }
  area.in_block = true;
  go_native(area, ip);
}

}  // namespace hodo::engine
