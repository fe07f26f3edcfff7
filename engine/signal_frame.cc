#include "signal_frame.h"

#include <algorithm>
#include <cstring>

#include "arena.h"
#include "glue.h"
#include "keys.h"
#include "program_memory.h"
#include "signal_place.h"
#include "trap_flag.h"

namespace hodo::engine {
namespace {

constexpr std::uint64_t kRedZone = 128;
constexpr unsigned kXsavePkru = 9;  // XSAVE's component

std::size_t fp_bytes(const KernelContext& context) {
  if (context.fp_state == 0) return 0;
  FpSoftware software;
  std::memcpy(&software, reinterpret_cast<const void*>(context.fp_state + FpSoftware::kAt),
              sizeof software);
  return software.magic == FpSoftware::kMagic ? software.bytes : kFxBytes;
}

// Where XSAVE keeps PKRU, in its standard form (SDM vol. 1, "XSAVE Area").
std::size_t key_rights_at() {
  static std::uint32_t at = 0;
  if (at != 0) return at;
  std::uint32_t eax = 0xd, ebx = 0, ecx = kXsavePkru, edx = 0;
  asm("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
  return at = ebx;
}

// The state that a handler begins with: of XSAVE's components none is in use but PKRU, which the
// kernel has just set for this one.
void clear_fp(const KernelContext& context, std::size_t bytes) {
  if (bytes == 0) return;
  auto* state = reinterpret_cast<std::uint8_t*>(context.fp_state);
  const std::uint16_t control = 0x37f;
  const std::uint32_t mxcsr = 0x1f80;
  std::memset(state, 0, 32);
  std::memcpy(state, &control, sizeof control);
  std::memcpy(state + kFxMxcsr, &mxcsr, sizeof mxcsr);
  if (bytes <= kFxBytes) {
    std::memset(state + 32, 0, FpSoftware::kAt - 32);
  } else {
    std::uint64_t used = 0;
    if (hodo_start_info.has_keys) {
      const std::uint64_t rights = key_rights();
      std::memcpy(state + key_rights_at(), &rights, sizeof rights);
      used = std::uint64_t{1} << kXsavePkru;
    }
    std::memcpy(state + kFxBytes, &used, sizeof used);  // XSTATE_BV
  }
}

// Where the x87 unit's last instruction stands, of which SIGFPE may tell, is a copy in the cache.
void name_x87_place(const KernelContext& context) {
  if (context.fp_state == 0) return;
  auto& place = *reinterpret_cast<std::uint64_t*>(context.fp_state + kFxX87Place);
  InsnPlace insn;
  if (place_of(place) == Place::cache && find_insn_locked(place, insn)) place = insn.ip;
}

// The same in the processor, before the program asks it (FNSTENV, FXSAVE, XSAVE).
extern "C" [[gnu::used]] void engine_name_x87_place() {
  alignas(16) std::uint64_t state[kFxBytes / sizeof(std::uint64_t)] = {};
  constexpr std::size_t kPlaceInState = kFxX87Place / sizeof *state;
  asm volatile("fxsave64 %0" : "+m"(state));
  InsnPlace insn;
  if (std::uint64_t& place = state[kPlaceInState]; place != 0) {
    if (place_of(place) != Place::cache || !find_insn_locked(place, insn)) return;
    place = insn.ip;
    asm volatile("fxrstor64 %0" : : "m"(state));
    return;
  }
  // AMD's processors tell it in that state only beside an exception that is not masked, but always
  // in an environment, which knows 32 bits.
  constexpr std::size_t kPlace = 3;
  std::uint32_t environment[7];
  asm volatile("fnstenv %0" : "=m"(environment));
  const std::uint64_t place = arena_address(environment[kPlace]);
  if (place != 0 && find_insn_locked(place, insn)) {
    environment[kPlace] = static_cast<std::uint32_t>(insn.ip);
  }
  asm volatile("fldenv %0" : : "m"(environment));
}

void load_context(const ThreadArea& area, KernelContext& context) {
  const Registers& r = area.registers;
  context.rax = r.rax, context.rcx = r.rcx, context.rdx = r.rdx, context.rbx = r.rbx;
  context.rsp = r.rsp, context.rbp = r.rbp, context.rsi = r.rsi, context.rdi = r.rdi;
  context.r8 = r.r8, context.r9 = r.r9, context.r10 = area.taken[0], context.r11 = area.taken[1];
  context.r12 = r.r12, context.r13 = r.r13, context.r14 = r.r14, context.r15 = r.r15;
  context.eflags = program_flags(area);
  context.rip = area.ip;
}

// Without the way through glue_resume, of which each instruction would raise a trap.
void return_to_cache(const ThreadArea& area, KernelContext& context) {
  load_context(area, context);
  context.rip = area.next;
  context.cs = kUserCode;
  context.eflags |= eflags::kTf;
  context.r10 = reinterpret_cast<std::uint64_t>(&area);
  context.r11 = area.outcomes;
}

// force_valid_ss() in the kernel's signal code: a frame that the thread returned by may have said a
// stack segment that cannot be, and the kernel refuses each return with that.
std::uint16_t valid_stack_segment(std::uint16_t segment) {
  constexpr std::uint32_t kPresent = 1 << 15, kDpl = 3 << 13, kCodeOrData = 1 << 12;
  constexpr std::uint32_t kType = 7 << 9, kExpandsDown = 1 << 10, kData = 1 << 9;
  constexpr std::uint16_t kUserData = 0x2b;  // __USER_DS
  std::uint32_t rights = 0;
  asm("larl %[segment], %[rights]"
      : [rights] "+r"(rights)
      : [segment] "r"(std::uint32_t{segment})
      : "cc");
  const std::uint32_t all = kPresent | kDpl | kCodeOrData;
  return (rights & (all | (kType & ~kExpandsDown))) == (all | kData) ? segment : kUserData;
}

}  // namespace

void save_registers(ThreadArea& area, const KernelContext& c) {
  area.registers = {c.rax, c.rcx, c.rdx, c.rbx, c.rsp,
                    c.rbp, c.rsi, c.rdi, c.r8,  c.r9,
                    c.r12, c.r13, c.r14, c.r15, c.eflags & ~eflags::kTf};
}

void save_native_registers(ThreadArea& area, const KernelContext& context) {
  save_registers(area, context);
  area.taken[0] = context.r10;
  area.taken[1] = context.r11;
  area.ip = context.rip;
}

void return_to_engine(ThreadArea& area, KernelContext& context) {
  if (begins_at_next(area)) return return_to_cache(area, context);
  step_if_wanted(area);
  context.rip = address(glue_resume);
  context.cs = kUserCode;
  context.r10 = reinterpret_cast<std::uint64_t>(&area);
  context.rsp = area.engine_stack;
  context.eflags = 0x202;
}

void return_to_program(const ThreadArea& area, KernelContext& context) {
  load_context(area, context);
}

void step_in_program(ThreadArea& area, KernelContext& context) {
  area.native_mask = context.mask;
  area.native = 1;
  context.mask = ~kFaults;
  return_to_program(area, context);
  context.eflags |= eflags::kTf;
}

bool push_frame(ThreadArea& area, const KernelAction& action, const WaitingSignal& signal,
                std::uint64_t mask, KernelContext& context) {
  // As arch/x86/kernel/signal.c and signal_64.c: without these there is no frame.
  if ((action.flags & action::kRestorer) == 0) return false;
  Registers& r = area.registers;
  std::uint64_t top = r.rsp - kRedZone;
  const bool nested =
      (area.alternate.flags & KernelStack::kAutoDisarm) == 0 && area.alternate.holds(r.rsp);
  const bool alternate = (action.flags & action::kOnStack) != 0 &&
                         (area.alternate.flags & KernelStack::kDisabled) == 0 && !nested;
  if (alternate) top = area.alternate.start + area.alternate.size;
  const std::size_t fp = fp_bytes(context);
  const std::uint64_t fp_at = (top - fp) & ~std::uint64_t{63};
  const std::uint64_t at = ((fp_at - sizeof(KernelFrame)) & ~std::uint64_t{15}) - 8;
  if ((alternate || nested) && !area.alternate.holds(at)) return false;

  KernelFrame frame;
  frame.return_address = action.restorer;
  frame.context = context;
  load_context(area, frame.context);
  frame.context.stack = area.alternate;
  frame.context.error = signal.error;
  frame.context.trap = signal.trap;
  frame.context.cr2 = signal.cr2;
  frame.context.mask = mask;
  frame.context.fp_state = fp == 0 ? 0 : fp_at;
  frame.info = signal.info;
  frame.context.old_mask = mask;
  name_x87_place(context);
  if (!write_program(fp_at, reinterpret_cast<const void*>(context.fp_state), fp) ||
      !write_program(at, &frame, sizeof frame)) {
    return false;
  }
  clear_fp(context, fp);
  context.ss = valid_stack_segment(context.ss);
  if ((area.alternate.flags & KernelStack::kAutoDisarm) != 0) area.alternate = {};
  r.rsp = at;
  r.rdi = signal.number;
  r.rsi = at + offsetof(KernelFrame, info);
  r.rdx = at + offsetof(KernelFrame, context);
  r.rax = 0;
  r.flags &= ~(eflags::kTf | eflags::kDf | eflags::kRf);
  area.trap_flag = {};
  area.ip = action.handler;
  return true;
}

}  // namespace hodo::engine
