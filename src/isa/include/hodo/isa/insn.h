// What kind of branch an x86 instruction is. The only module that knows Zydis; everything else sees
// these few facts about an instruction and nothing of its operands.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace hodo::isa {

// The code segment's width: CS.L / CS.D, what a MODE.Exec packet says.
enum class Mode : std::uint8_t { bits16, bits32, bits64 };

// The classes that change control flow, plus those that Intel PT ties a packet to.
enum class InsnClass : std::uint8_t {
  other,     // falls through (REP string instructions too: they repeat without branching)
  cond,      // Jcc, JrCXZ, LOOPcc: taken or not, direct target
  jmp,       // direct near jump
  ijmp,      // indirect near jump, JMPABS
  call,      // direct near call
  icall,     // indirect near call
  ret,       // near return
  syscall,   // SYSCALL, SYSENTER
  sysret,    // SYSRET, SYSEXIT
  int_,      // INT n, INT3, INTO, INT1
  iret,      // IRET, IRETD, IRETQ, UIRET, ERETS, ERETU
  far_jmp,   // JMPF, direct or through memory
  far_call,  // CALLF
  far_ret,   // RETF
  xbegin,    // starts a transaction; falls through, target = abort handler
  xabort,
  vmentry,  // VMLAUNCH, VMRESUME
  vmexit,   // VMCALL (VMFUNC stays in the guest; CPUID and its like only leave where there is one)
  mov_cr3,  // a PIP packet may bind here
  ptwrite,  // a PTW packet may bind here
};

// An instruction that never falls through by its own text is a branch of one of these classes.
constexpr bool is_branch(InsnClass c) { return c >= InsnClass::cond && c <= InsnClass::far_ret; }
// The target is in the instruction's own bytes.
constexpr bool has_direct_target(InsnClass c) {
  return c == InsnClass::cond || c == InsnClass::jmp || c == InsnClass::call ||
         c == InsnClass::xbegin;
}

struct Insn {
  std::uint8_t length = 0;  // bytes, 1 to 15
  InsnClass cls = InsnClass::other;
  std::uint64_t target = 0;  // of a direct branch, linear; cut to 32 bits outside 64-bit mode
};

// Decodes the instruction that starts at bytes[0], which lies at address ip. Reads at most 15
// bytes. nullopt: the bytes are no instruction, or the instruction is cut off by the end of the
// span.
std::optional<Insn> decode(std::span<const std::uint8_t> bytes, std::uint64_t ip, Mode mode);

}  // namespace hodo::isa
