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
  push,       // PUSH: a return right behind it goes where the pushed value says
  store_top,  // MOV to [RSP]: the same
  frame,      // RSP from RBP: LEAVE, MOV RSP, RBP, LEA RSP, [RBP - n]
  load,       // RSP from anything else: another stack
};

struct Operands {
  Insn insn;
  StackUse stack = StackUse::other;
  // RIP-relative or absolute address of a memory operand, whether it is read, written or only
  // computed (LEA); nullopt: none, or one that depends on a register.
  std::optional<std::uint64_t> address;
  bool computes = false;  // LEA: the address itself is the result
  // An immediate of 32 or 64 bits, sign-extended, that is no displacement of a branch.
  std::optional<std::uint64_t> immediate;
};

// As decode(), of 64-bit code, with the operands.
std::optional<Operands> decode_operands(std::span<const std::uint8_t> bytes, std::uint64_t ip);

}  // namespace hodo::isa
