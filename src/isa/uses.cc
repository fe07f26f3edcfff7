#include "hodo/isa/uses.h"

#include <Zydis/Mnemonic.h>

#include "zydis_operands.h"

namespace hodo::isa {
namespace {

std::uint16_t bit_of(ZydisRegister reg) {
  const std::uint8_t number = number_of(reg);
  return number == kNoRegister ? 0 : static_cast<std::uint16_t>(1u << number);
}

void add(std::uint16_t& set, std::uint16_t more) { set = static_cast<std::uint16_t>(set | more); }

bool is_register(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && number_of(operand.reg.value) != kNoRegister;
}

// Nothing of a register's value before decides what is in it behind: XOR, SUB, SBB REG, REG; AND
// REG, 0; OR REG, -1.
bool forgets(const WholeInsn& whole) {
  const ZydisDecodedOperand& to = whole.operands[0];
  const ZydisDecodedOperand& by = whole.operands[1];
  if (!is_register(to)) return false;
  const bool same = is_register(by) && by.reg.value == to.reg.value;
  const bool number = by.type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  switch (whole.insn.mnemonic) {
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_SBB:
      return same;
    case ZYDIS_MNEMONIC_AND:
      return number && by.imm.value.u == 0;
    case ZYDIS_MNEMONIC_OR:
      return number && by.imm.value.s == -1;
    default:
      return false;
  }
}

bool touches_no_memory(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_PREFETCH:
    case ZYDIS_MNEMONIC_PREFETCHNTA:
    case ZYDIS_MNEMONIC_PREFETCHT0:
    case ZYDIS_MNEMONIC_PREFETCHT1:
    case ZYDIS_MNEMONIC_PREFETCHT2:
    case ZYDIS_MNEMONIC_PREFETCHW:
    case ZYDIS_MNEMONIC_PREFETCHWT1:
      return true;
    default:
      return false;
  }
}

bool is_move(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_MOV || mnemonic == ZYDIS_MNEMONIC_MOVSX ||
         mnemonic == ZYDIS_MNEMONIC_MOVSXD || mnemonic == ZYDIS_MNEMONIC_MOVZX;
}

void use_register(const ZydisDecodedOperand& operand, bool reads, Uses& out) {
  const std::uint16_t bit = bit_of(operand.reg.value);
  if (reads && (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0) add(out.values, bit);
  if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) return;
  add(out.writes, bit);
  constexpr int kWholeBits = 32;  // 32-bit results are extended with zeros (SDM vol. 1, 3.4.1.1)
  const bool always = (operand.actions & ZYDIS_OPERAND_ACTION_WRITE) != 0;
  if (always && operand.size >= kWholeBits) add(out.replaces, bit);
}

void use_memory(const ZydisDecodedOperand& operand, ZydisMnemonic mnemonic, Uses& out) {
  const auto registers =
      static_cast<std::uint16_t>(bit_of(operand.mem.base) | bit_of(operand.mem.index));
  if (!touches_no_memory(mnemonic)) {
    add(out.pointers, registers);
  } else if (mnemonic == ZYDIS_MNEMONIC_LEA) {
    add(out.values, registers);
  }
}

void describe_hands(const WholeInsn& whole, std::uint64_t ip, Uses& out) {
  const ZydisDecodedOperand& first = whole.operands[0];
  const ZydisDecodedOperand& second = whole.operands[1];
  if (whole.insn.mnemonic == ZYDIS_MNEMONIC_PUSH && is_register(first)) {
    out.hands = Uses::Hands::store;
    out.from = number_of(first.reg.value);
  }
  if (!is_move(whole.insn.mnemonic)) return;
  if (is_register(first) && is_register(second)) {
    out.hands = Uses::Hands::copy;
    out.to = number_of(first.reg.value);
    out.from = number_of(second.reg.value);
  } else if (const auto read = memory_of(second, whole.insn, ip); read && is_register(first)) {
    out.hands = Uses::Hands::load;
    out.to = number_of(first.reg.value);
    out.memory = *read;
  } else if (const auto written = memory_of(first, whole.insn, ip);
             written && is_register(second)) {
    out.hands = Uses::Hands::store;
    out.from = number_of(second.reg.value);
    out.memory = *written;
  }
}

}  // namespace

std::optional<Uses> decode_uses(std::span<const std::uint8_t> bytes, std::uint64_t ip) {
  WholeInsn whole{};
  if (!decode_whole(bytes, whole)) return std::nullopt;
  Uses out{.insn = describe(whole.insn, ip, Mode::bits64)};
  if (whole.insn.mnemonic == ZYDIS_MNEMONIC_NOP) return out;
  const bool forgotten = forgets(whole);
  for (const ZydisDecodedOperand& operand : whole.all()) {
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) use_register(operand, !forgotten, out);
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      use_memory(operand, whole.insn.mnemonic, out);
    }
  }
  const bool number = whole.insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
                      whole.operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  out.constant = forgotten || number;
  describe_hands(whole, ip, out);
  return out;
}

}  // namespace hodo::isa
