// R10 and R11 are the engine's while code runs in the cache; the program's own lie in its thread's
// area. How the copy of an instruction that names them comes to them: by other registers that stand
// in for them, or by their places in memory. And to what lies out of the cache's reach.
#pragma once

#include "emitter.h"
#include "hodo/isa/encoding.h"
#include "operands.h"

namespace hodo::engine {

struct StandIns {
  static constexpr unsigned kNone = 16;
  // For R10, for R11. The instruction begins with the register in ThreadArea::scratch.
  struct One {
    unsigned reg = kNone;
    bool is_read = true;      // what stands for it has to have its value
    bool is_written = false;  // what stands for it may have a new value
    bool comes_back = true;   // the register has to have its own value again
  };
  One of[2];
};

inline bool is_taken(unsigned reg) { return reg == r10 || reg == r11; }

// PUSH, POP and MOV of a whole register of ours need no other one.
inline bool copies_simply(const isa::Encoding& e) {
  if (e.form != isa::Form::legacy || e.map != 0 || e.operand16) return false;
  if ((e.opcode & 0xf0) == 0x50) return is_taken(e.named(isa::RegisterField::opcode));
  const bool move = e.opcode == 0x89 || e.opcode == 0x8b;
  if (!move || e.modrm < 0xc0 || !(e.rex & 8)) return false;
  return is_taken(e.reg()) != is_taken(e.rm());
}

// The instruction between registers can be written with the place of ours in memory.
enum class InPlace { no, rm, reg, both };
inline InPlace in_place(const isa::Encoding& e) {
  using isa::RegisterField;
  if (e.modrm < 0xc0 || e.segment != 0 || e.address32) return InPlace::no;
  const bool reg = is_taken(e.named(RegisterField::reg));
  const bool rm = is_taken(e.named(RegisterField::rm));
  const Operands o = operands(e);
  if (!o.takes_memory || (!reg && !rm)) return InPlace::no;
  if (reg && rm) {  // TEST r, r; XOR r, r
    const bool same = e.reg() == e.rm() && o.bytes >= 4;
    return same && (e.opcode == 0x85 || (e.opcode | 2) == 0x33) ? InPlace::both : InPlace::no;
  }
  // 32 bits that are written to a register clear those above.
  const bool written = rm ? o.writes_rm : o.writes_reg;
  if (written && o.bytes == 4) return InPlace::no;
  if (reg) return o.turns ? InPlace::reg : InPlace::no;
  return InPlace::rm;
}

// The register that the instruction only writes, all of it, and that can stand in for one of ours
// in its address; kNone: there is none.
inline unsigned destination(const isa::Encoding& e, const Operands& o) {
  using isa::RegisterField;
  if (e.form != isa::Form::legacy || !e.has_memory() || e.address32) return StandIns::kNone;
  const unsigned reg = e.named(RegisterField::reg);
  if (o.reads_reg || !o.writes_reg || o.bytes < 4 || reg >= 16 || is_taken(reg)) {
    return StandIns::kNone;
  }
  // In some fields RSP, RBP, R12 and R13 mean other things.
  if ((reg & 7) == rsp || (reg & 7) == rbp) return StandIns::kNone;
  const bool in_address =
      e.named(RegisterField::base) == reg || e.named(RegisterField::index) == reg;
  return in_address ? StandIns::kNone : reg;
}

// Of the registers that no instruction uses without naming them, those that can stand in every
// field. An instruction names four at most.
inline StandIns stand_ins(const isa::Encoding& e) {
  using isa::RegisterField;
  StandIns made;
  unsigned used = e.registers();
  if ((used & (1u << r10 | 1u << r11)) == 0) return made;
  if (copies_simply(e) || in_place(e) != InPlace::no) return made;
  const Operands o = operands(e);
  unsigned to = destination(e, o);
  for (const unsigned ours : {unsigned{r10}, unsigned{r11}}) {
    if ((used >> ours & 1) == 0) continue;
    StandIns::One& one = made.of[ours - r10];
    const bool reg = e.named(RegisterField::reg) == ours;
    const bool rm = e.named(RegisterField::rm) == ours;
    const bool in_address =
        e.named(RegisterField::base) == ours || e.named(RegisterField::index) == ours;
    const bool elsewhere =
        e.named(RegisterField::vvvv) == ours || e.named(RegisterField::opcode) == ours;
    one.is_read = in_address || elsewhere || (reg && o.reads_reg) || (rm && o.reads_rm);
    one.is_written = elsewhere || (reg && o.writes_reg) || (rm && o.writes_rm);
    if (in_address && !one.is_written && to != StandIns::kNone) {
      one.reg = to;
      one.comes_back = false;
      to = StandIns::kNone;
      continue;
    }
    for (const unsigned free : {unsigned{r8}, unsigned{r9}, unsigned{r14}, unsigned{r15}}) {
      if ((used >> free & 1) != 0) continue;
      used |= 1u << free;
      one.reg = free;
      break;
    }
  }
  return made;
}

// The register that holds the address of an operand beside the code where a displacement does not
// reach it from the cache: one that needs no REX prefix, no displacement and no SIB byte, and that
// no instruction with such an operand uses without naming it. One names two others at most.
inline unsigned address_register(const isa::Encoding& e) {
  const unsigned used = e.registers();
  if ((used >> rsi & 1) == 0) return rsi;
  return (used >> rdi & 1) == 0 ? rdi : rbx;
}

// Where the operand lies that the instruction's bytes, in front of `behind`, name from RIP.
inline std::uint64_t operand_beside(const isa::Encoding& e, const std::uint8_t* insn,
                                    std::uint64_t behind) {
  std::int32_t distance = 0;
  __builtin_memcpy(&distance, insn + e.disp_at, sizeof distance);
  const std::uint64_t target = behind + static_cast<std::uint64_t>(std::int64_t{distance});
  return e.address32 ? target & 0xffff'ffff : target;
}

}  // namespace hodo::engine
