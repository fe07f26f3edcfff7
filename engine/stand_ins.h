// Which registers stand for R10 and R11 in the copy of an instruction that names them.
#pragma once

#include "emitter.h"
#include "hodo/isa/encoding.h"

namespace hodo::engine {

struct StandIns {
  static constexpr unsigned kNone = 16;
  unsigned reg[2] = {kNone, kNone};  // for R10, for R11
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

// Of the registers that no instruction uses without naming them, those that can stand in every
// field: R12 and R13 mean other things in some. An instruction names four at most.
inline StandIns stand_ins(const isa::Encoding& e) {
  StandIns made;
  if (copies_simply(e)) return made;
  unsigned used = e.registers();
  for (const unsigned ours : {unsigned{r10}, unsigned{r11}}) {
    if ((used >> ours & 1) == 0) continue;
    for (const unsigned free : {unsigned{r8}, unsigned{r9}, unsigned{r14}, unsigned{r15}}) {
      if ((used >> free & 1) != 0) continue;
      used |= 1u << free;
      made.reg[ours - r10] = free;
      break;
    }
  }
  return made;
}

}  // namespace hodo::engine
