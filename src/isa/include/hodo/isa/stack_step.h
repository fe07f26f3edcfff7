// What one instruction does to the stack pointer, for who follows where a return address lies.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "hodo/isa/insn.h"

namespace hodo::isa {

// A place on the stack, in bytes from what RSP or RBP is before the instruction.
struct StackPlace {
  bool of_frame = false;  // from RBP
  std::int64_t distance = 0;
};

struct StackStep {
  Insn insn;
  // By how many bytes RSP comes down, where it goes on; less than 0: up. Calls and returns leave it
  // as it is here. nullopt: the encoding does not say.
  std::optional<std::int64_t> lowers;
  bool frames = false;               // MOV RBP, RSP
  std::optional<StackPlace> writes;  // also what it reads there first, as ADD and XCHG do
};

// Of 64-bit or 32-bit code, in which the registers are ESP and EBP. nullopt: the bytes are no
// instruction.
std::optional<StackStep> decode_stack_step(std::span<const std::uint8_t> bytes, std::uint64_t ip,
                                           Mode mode);

}  // namespace hodo::isa
