// Which operands of an instruction are read and written, as far as that helps to copy it with fewer
// moves. For everything that is not looked at here: all of them, both.
#pragma once

#include "hodo/isa/encoding.h"

namespace hodo::engine {

struct Operands {
  bool reads_reg = true, writes_reg = true;  // ModRM.reg
  bool reads_rm = true, writes_rm = true;    // ModRM.rm, a register
  // The operands may also be encoded the other way round: with bit 1 of the opcode flipped, or, of
  // TEST, as they are.
  bool turns = false;
  unsigned turned = 0;  // the opcode then
  // The operand in ModRM.rm may as well be in memory, and nothing else changes.
  bool takes_memory = false;
  unsigned bytes = 4;  // of the operands
};

namespace operands_detail {

// 8 and 16 bits of a register leave the others as they are: a write of these is a read, too.
constexpr Operands moved(Operands o, bool to_reg) {
  const bool whole = o.bytes >= 4;
  o.reads_reg = !to_reg || !whole;
  o.writes_reg = to_reg;
  o.reads_rm = to_reg || !whole;
  o.writes_rm = !to_reg;
  return o;
}

constexpr Operands changed(Operands o, bool in_reg) {
  o.writes_reg = in_reg;
  o.writes_rm = !in_reg;
  return o;
}

constexpr Operands only_read(Operands o) {
  o.writes_reg = o.writes_rm = false;
  return o;
}

constexpr Operands one_byte(const isa::Encoding& e, Operands o) {
  const unsigned op = e.opcode;
  const bool to_reg = (op & 2) != 0;
  if ((op & 1) == 0) o.bytes = 1;
  if (op < 0x40 && (op & 7) < 4) {  // ADD, OR, ADC, SBB, AND, SUB, XOR, CMP
    o.takes_memory = o.turns = true;
    o.turned = op ^ 2;
    return op >= 0x38 ? only_read(o) : changed(o, to_reg);
  }
  switch (op) {
    case 0x63:  // MOVSXD
    case 0x69:  // IMUL with an immediate
    case 0x6b:
      o.bytes = e.operand16 ? 2 : (e.rex & 8) != 0 ? 8 : 4;
      o.takes_memory = true;
      return moved(o, true);
    case 0x84:  // TEST
    case 0x85:
      o.takes_memory = o.turns = true;
      o.turned = op;
      return only_read(o);
    case 0x88:  // MOV
    case 0x89:
    case 0x8a:
    case 0x8b:
      o.takes_memory = o.turns = true;
      o.turned = op ^ 2;
      return moved(o, to_reg);
    case 0x8d:  // LEA
      return moved(o, true);
    case 0x80:
    case 0x81:
    case 0x83:
      o.takes_memory = true;
      if (op == 0x83) o.bytes = e.operand16 ? 2 : (e.rex & 8) != 0 ? 8 : 4;
      return (e.modrm >> 3 & 7) == 7 ? only_read(o) : changed(o, false);
    case 0xc6:  // MOV with an immediate
    case 0xc7:
      o.takes_memory = (e.modrm >> 3 & 7) == 0;
      return o.takes_memory ? moved(o, false) : o;
    case 0xc0:  // shifts
    case 0xc1:
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
      o.takes_memory = true;
      return changed(o, false);
    case 0xf6:  // TEST, NOT, NEG, MUL, IMUL, DIV, IDIV
    case 0xf7:
      o.takes_memory = true;
      return (e.modrm >> 3 & 7) == 2 || (e.modrm >> 3 & 7) == 3 ? changed(o, false) : only_read(o);
    case 0xfe:  // INC, DEC
    case 0xff:
      o.takes_memory = (e.modrm >> 3 & 7) <= 1;
      return o.takes_memory ? changed(o, false) : o;
    default:
      return o;
  }
}

constexpr Operands two_bytes(const isa::Encoding& e, Operands o) {
  const unsigned op = e.opcode;
  if ((op & 0xf0) == 0x40 || op == 0xaf) {  // CMOV, IMUL
    o.takes_memory = true;
    return changed(o, true);
  }
  if (op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf) {  // MOVZX, MOVSX
    o.takes_memory = true;
    return moved(o, true);
  }
  return o;
}

}  // namespace operands_detail

constexpr Operands operands(const isa::Encoding& e) {
  Operands o;
  o.bytes = e.operand16 ? 2 : (e.rex & 8) != 0 ? 8 : 4;
  if (e.form != isa::Form::legacy || e.modrm_at == 0 || e.rep != 0 || e.lock) return o;
  if (e.map == 0) return operands_detail::one_byte(e, o);
  return e.map == 1 ? operands_detail::two_bytes(e, o) : o;
}

}  // namespace hodo::engine
