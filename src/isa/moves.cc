#include "hodo/isa/moves.h"

#include <Zydis/Mnemonic.h>
#include <Zydis/Register.h>

#include <tuple>

#include "zydis_decoder.h"
#include "zydis_operands.h"

namespace hodo::isa {
namespace {

// What a function may change (x86-64 psABI, "Register Usage"): all but RBX, RSP, RBP, R12 to R15.
constexpr std::uint16_t kNotPreserved = 0x0fc7;

bool is_whole(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.size == 64 &&
         number_of(operand.reg.value) != kNoRegister;
}

std::uint16_t changed_by(const WholeInsn& decoded) {
  if (decoded.insn.mnemonic == ZYDIS_MNEMONIC_CALL) return kNotPreserved;
  std::uint16_t out = 0;
  for (const ZydisDecodedOperand& operand : decoded.all()) {
    const bool writes = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (!writes || operand.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    const std::uint8_t number = number_of(operand.reg.value);
    if (number != kNoRegister) out = static_cast<std::uint16_t>(out | 1u << number);
  }
  return out;
}

// What it writes to memory; its first operand.
void tell_written(const WholeInsn& decoded, std::uint64_t ip, Move& out) {
  const ZydisDecodedOperand& to = decoded.operands[0];
  if (decoded.insn.operand_count == 0) return;
  const auto memory = memory_of(to, decoded.insn, ip);
  if (!memory || (to.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) return;
  out.memory = *memory;
  out.written = static_cast<std::uint16_t>(to.size / 8);
  if (decoded.insn.mnemonic != ZYDIS_MNEMONIC_MOV || !is_whole(decoded.operands[1])) return;
  out.what = Move::What::store;
  out.from = number_of(decoded.operands[1].reg.value);
}

}  // namespace

std::optional<Move> decode_move(std::span<const std::uint8_t> bytes, std::uint64_t ip) {
  WholeInsn decoded{};
  if (!decode_whole(bytes, decoded)) return std::nullopt;
  Move out{.changed = changed_by(decoded)};
  const auto& [to, from] = std::tie(decoded.operands[0], decoded.operands[1]);
  const bool moves = decoded.insn.mnemonic == ZYDIS_MNEMONIC_MOV;
  const bool computes = decoded.insn.mnemonic == ZYDIS_MNEMONIC_LEA;
  tell_written(decoded, ip, out);
  if (!is_whole(to)) return out;
  if (decoded.insn.mnemonic == ZYDIS_MNEMONIC_ADD && is_whole(from)) {
    out.what = Move::What::sum;
    out.to = number_of(to.reg.value);
    out.from = number_of(from.reg.value);
  }
  if (decoded.insn.mnemonic == ZYDIS_MNEMONIC_ADD && from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
    out.what = Move::What::address;
    out.to = number_of(to.reg.value);
    out.memory = {.base = out.to, .displacement = from.imm.value.s};
  }
  if (!moves && !computes) return out;
  if (moves && is_whole(from)) {
    out.what = Move::What::copy;
    out.from = number_of(from.reg.value);
  } else if (const auto memory = memory_of(from, decoded.insn, ip)) {
    out.what = moves ? Move::What::load : Move::What::address;
    out.memory = *memory;
  } else {
    return out;
  }
  out.to = number_of(to.reg.value);
  return out;
}

namespace {

// The first operand.
std::optional<Pointer> pointer_in(const WholeInsn& decoded, std::uint64_t ip) {
  const ZydisDecodedOperand& operand = decoded.operands[0];
  if (is_whole(operand)) return Pointer{.in = number_of(operand.reg.value)};
  const auto memory = memory_of(operand, decoded.insn, ip);
  return memory ? std::optional(Pointer{.memory = *memory}) : std::nullopt;
}

}  // namespace

std::optional<Pointer> decode_push(std::span<const std::uint8_t> bytes, std::uint64_t ip) {
  WholeInsn decoded{};
  if (!decode_whole(bytes, decoded)) return std::nullopt;
  if (decoded.insn.mnemonic != ZYDIS_MNEMONIC_PUSH) return std::nullopt;
  return pointer_in(decoded, ip);
}

std::optional<Pointer> decode_pointer(std::span<const std::uint8_t> bytes, std::uint64_t ip) {
  WholeInsn decoded{};
  if (!decode_whole(bytes, decoded)) return std::nullopt;
  const InsnClass cls = describe(decoded.insn, ip, Mode::bits64).cls;
  if (cls != InsnClass::icall && cls != InsnClass::ijmp) return std::nullopt;
  return pointer_in(decoded, ip);
}

}  // namespace hodo::isa
