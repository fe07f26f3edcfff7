// Which general registers an instruction uses, and how: what analyses ask that follow arguments of
// functions. Of 64-bit code only. Registers have the numbers of their encoding, RAX 0 to R15 15.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "hodo/isa/insn.h"
#include "hodo/isa/moves.h"

namespace hodo::isa {

struct Uses {
  // What an instruction hands on without looking at it.
  enum class Hands : std::uint8_t {
    nothing,
    copy,   // MOV, MOVSX, MOVZX REG, REG
    load,   // the same from `memory`
    store,  // MOV to `memory`, also PUSH, which has none
  };
  Insn insn;
  Hands hands = Hands::nothing;
  std::uint8_t to = kNoRegister;    // of a copy or a load
  std::uint8_t from = kNoRegister;  // of a copy or a store
  Memory memory;                    // of a load or a store
  // Bit n: register n. What decides where memory is that it reads or writes (not LEA's, NOP's,
  // PREFETCH's); whose values it uses otherwise, also to hand them on; which it writes, and of
  // which nothing of the value before is left behind it. XOR REG, REG and the like read nothing.
  // Calls read and write what their encoding says alone.
  std::uint16_t pointers = 0;
  std::uint16_t values = 0;
  std::uint16_t writes = 0;
  std::uint16_t replaces = 0;
  bool constant = false;  // a number is all that it writes: MOV REG, NUMBER; XOR REG, REG
};

// nullopt: the bytes are no instruction. As decode() in what it reads.
std::optional<Uses> decode_uses(std::span<const std::uint8_t> bytes, std::uint64_t ip);

}  // namespace hodo::isa
