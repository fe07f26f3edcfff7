// The few facts about operands that an analysis of program text needs beyond what kind of branch an
// instruction is: the addresses it names, and what it does to the stack pointer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "hodo/isa/insn.h"

namespace hodo::isa {

// What an instruction does to the stack, as far as it decides where a following return goes.
enum class StackUse : std::uint8_t {
  other,
  push,        // PUSH: a return right behind it goes where the pushed value says
  store_top,   // MOV to [RSP]: the same
  peek,        // MOV of another register from [RSP + n]
  set_frame,   // RBP from RSP: MOV, LEA RBP, [RSP + n]
  load_frame,  // RBP from memory that neither of both names: the frame of another stack, if it is
               // one
  copy_frame,  // RBP from another register than RSP: the frame of the stack that RSP is in
  frame,       // RSP from RBP: LEAVE, MOV RSP, RBP, MOV or LEA RSP, [RBP - n]
  load,        // RSP from anything else: another stack
};

struct Operands {
  Insn insn;
  StackUse stack = StackUse::other;
  // RIP-relative or absolute address of a memory operand, whether it is read, written or only
  // computed (LEA); nullopt: none, or one that depends on a register.
  std::optional<std::uint64_t> address;
  // Of 32-bit code: what a memory operand with a displacement of 32 bits adds to a register other
  // than ESP, as position-independent code adds distances to the address of its GOT; or what a
  // scaled index alone is added to.
  std::optional<std::int32_t> distance;
  bool indexed = false;   // `distance` is of a table of 4-byte entries: the operand has an index
  bool based = false;     // `distance` counts from a register
  bool computes = false;  // LEA: the address itself is the result
  // An immediate of 32 or 64 bits, sign-extended, in 32-bit code cut to 32, that is no displacement
  // of a branch.
  std::optional<std::uint64_t> immediate;
  // How many low bits of a register other than RSP an AND with a constant keeps or clears, or a SHL
  // leaves: so code looks where in a line or page of memory something lies.
  std::optional<unsigned> low_bits;
  bool releases = false;  // RET n: takes n bytes off the stack besides its target
};

// As decode(), of 64-bit or 32-bit code, with the operands.
std::optional<Operands> decode_operands(std::span<const std::uint8_t> bytes, std::uint64_t ip,
                                        Mode mode);

}  // namespace hodo::isa
