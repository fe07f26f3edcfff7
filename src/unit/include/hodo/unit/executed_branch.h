// What the trace unit is told about one executed branch.
#pragma once

#include <array>
#include <cstdint>

#include "hodo/hw/branch_class.h"
#include "hodo/isa/insn.h"

namespace hodo::unit {

struct ExecutedBranch {
  // 0: in code that nobody traces, such as the kernel below a user-mode emulator. Linux marks the
  // ends of what it traces so, too (perf's intel-bts.c: TRACE_BEGIN, TRACE_END).
  std::uint64_t from = 0;  // an interrupt's: the instruction that it came before
  std::uint64_t to = 0;
  hw::BranchClass cls = hw::BranchClass::other;
  std::uint16_t insns = 0;  // executed since the branch before, this one included; 0: unknown
  std::uint8_t from_cpl = 3;
  std::uint8_t to_cpl = 3;
  bool resumes = false;  // from address 0: it goes on behind the system call that led there
  // An interrupt or exception, not an instruction. Processors do not record debug exceptions.
  bool event = false;
  bool mispredicted = false;
  bool in_tx = false;
  bool abort = false;
};

// What filters and type fields call an instruction that changes control flow.
constexpr hw::BranchClass branch_class(isa::InsnClass cls) {
  switch (cls) {
    case isa::InsnClass::cond:
      return hw::BranchClass::cond;
    case isa::InsnClass::jmp:
      return hw::BranchClass::rel_jmp;
    case isa::InsnClass::ijmp:
      return hw::BranchClass::ind_jmp;
    case isa::InsnClass::call:
      return hw::BranchClass::rel_call;
    case isa::InsnClass::icall:
      return hw::BranchClass::ind_call;
    case isa::InsnClass::ret:
      return hw::BranchClass::ret;
    default:
      return hw::BranchClass::other;
  }
}

// A set of isa::InsnClass, one bit each: "is it one of these" without a branch of our own.
using InsnClassSet = std::uint32_t;
constexpr InsnClassSet bit_of(isa::InsnClass cls) {
  return InsnClassSet{1} << static_cast<unsigned>(cls);
}
constexpr std::uint64_t contains(InsnClassSet set, isa::InsnClass cls) {
  return set >> static_cast<unsigned>(cls) & 1;
}
// Every class whose execution can be a taken branch.
inline constexpr InsnClassSet kAllBranches = [] {
  InsnClassSet out = 0;
  for (unsigned n = 0; n < 32; ++n) {
    if (isa::is_branch(static_cast<isa::InsnClass>(n))) out |= InsnClassSet{1} << n;
  }
  return out;
}();

}  // namespace hodo::unit
