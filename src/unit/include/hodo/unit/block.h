// What the trace unit is told about the code: one static description per translated block.
#pragma once

#include <cstdint>

#include "hodo/isa/insn.h"

namespace hodo::unit {

// A run of instructions that executes from its start to its end unless a fault or a signal cuts it
// short. Written once by whoever translates code, then only read. 32 bytes: the unit reads one of
// them for every executed block, so two share a cache line.
struct Block {
  // An address that no block starts at: marks "has no such successor".
  static constexpr std::uint64_t kNowhere = 1;

  std::uint64_t start = 0;
  // The two places where execution can go without a TIP. A conditional branch: its target and its
  // fall-through. A direct jump or call: twice its target. No branch: twice the fall-through. A
  // repeated string instruction: itself and the fall-through. Others, and MOV CR3, which makes a
  // packet: twice kNowhere.
  std::uint64_t taken = kNowhere;
  std::uint64_t other = kNowhere;
  std::uint16_t size = 0;   // bytes; start + size is the fall-through, and what a call pushes
  std::uint16_t insns = 0;  // instructions
  std::uint8_t last = 0;  // bytes of the last instruction: start + size - last is a branch's source
  isa::InsnClass cls = isa::InsnClass::other;  // of the last instruction
  std::uint8_t tnt = 0;  // 1: leaving it makes a TNT bit (conditional branches)
  std::uint8_t flags = 0;

  static constexpr std::uint8_t kPushes = 1;  // a call that RET compression remembers
  // A signal, an interrupt or an exception may be delivered at its start.
  static constexpr std::uint8_t kHandler = 2;
  static constexpr std::uint8_t kNarrow = 4;  // 32-bit code

  std::uint64_t end() const { return start + size; }
  std::uint64_t source() const { return start + size - last; }
  bool contains(std::uint64_t ip) const { return ip - start < size; }
  isa::Mode mode() const { return flags & kNarrow ? isa::Mode::bits32 : isa::Mode::bits64; }
};
static_assert(sizeof(Block) == 32);

}  // namespace hodo::unit
