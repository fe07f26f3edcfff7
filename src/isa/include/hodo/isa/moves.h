// Where a value in a register comes from: what analyses ask that go back from an indirect branch.
// Of 64-bit code only. Registers have the numbers of their encoding, RAX 0 to R15 15.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace hodo::isa {

inline constexpr std::uint8_t kNoRegister = 16;

// A memory operand without a segment's base.
struct Memory {
  std::uint8_t base = kNoRegister;
  std::uint8_t index = kNoRegister;
  std::int64_t displacement = 0;
  // Where it is, if no register decides that: [RIP + n], [n].
  std::optional<std::uint64_t> address;
};

// What an instruction does to general registers.
struct Move {
  enum class What : std::uint8_t {
    other,
    copy,     // MOV REG, REG
    load,     // MOV REG, MEMORY
    address,  // LEA REG, MEMORY; ADD REG, NUMBER, which is LEA REG, [REG + NUMBER]
    sum,      // ADD REG, REG: `to` and `from` come to `to`
    store,    // MOV MEMORY, REG
  };
  What what = What::other;
  std::uint8_t to = kNoRegister;
  std::uint8_t from = kNoRegister;  // of a copy, a sum or a store
  Memory memory;                    // of a load or an address; where `written` is not 0, that
  std::uint16_t written = 0;        // bytes of `memory` that the instruction writes, by an operand
  // Bit n: register n is not what it was before, or only a part of it is. Of a call, those that a
  // function may change by the psABI.
  std::uint16_t changed = 0;
};

// An indirect call or jump: to what the register or the memory holds.
struct Pointer {
  std::uint8_t in = kNoRegister;
  Memory memory;  // where `in` is none
};

// nullopt: the bytes are no instruction. As decode() in what it reads.
std::optional<Move> decode_move(std::span<const std::uint8_t> bytes, std::uint64_t ip);
// What PUSH puts on the stack, a register or a word of memory. nullopt: another instruction.
std::optional<Pointer> decode_push(std::span<const std::uint8_t> bytes, std::uint64_t ip);
// nullopt: no indirect call or jump, or a far one.
std::optional<Pointer> decode_pointer(std::span<const std::uint8_t> bytes, std::uint64_t ip);

}  // namespace hodo::isa
