#include "hodo/isa/moves.h"

#include <Zydis/Mnemonic.h>
#include <Zydis/Register.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "zydis_decoder.h"

namespace hodo::isa {
namespace {

// What a function may change (x86-64 psABI, "Register Usage"): all but RBX, RSP, RBP, R12 to R15.
constexpr std::uint16_t kNotPreserved = 0x0fc7;

struct Decoded {
  ZydisDecodedInstruction insn;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
};

bool decode_whole(std::span<const std::uint8_t> bytes, Decoded& out) {
  const auto size = std::min<std::size_t>(bytes.size(), ZYDIS_MAX_INSTRUCTION_LENGTH);
  return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis_decoder(Mode::bits64), bytes.data(), size,
                                             &out.insn, out.operands.data()));
}

// Of a general register of any width the number of the whole.
std::uint8_t number_of(ZydisRegister reg) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15) return kNoRegister;
  return static_cast<std::uint8_t>(whole - ZYDIS_REGISTER_RAX);
}

bool is_whole(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.size == 64 &&
         number_of(operand.reg.value) != kNoRegister;
}

std::optional<Memory> memory_of(const ZydisDecodedOperand& operand, const Decoded& decoded,
                                std::uint64_t ip) {
  if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) return std::nullopt;
  const auto& mem = operand.mem;
  if (mem.segment == ZYDIS_REGISTER_FS || mem.segment == ZYDIS_REGISTER_GS) return std::nullopt;
  Memory out{
      .base = number_of(mem.base), .index = number_of(mem.index), .displacement = mem.disp.value};
  const auto distance = static_cast<std::uint64_t>(mem.disp.value);
  if (mem.base == ZYDIS_REGISTER_RIP) {
    out.address = ip + decoded.insn.length + distance;
  } else if (out.base == kNoRegister && out.index == kNoRegister) {
    out.address = distance;
  }
  return out;
}

std::uint16_t changed_by(const Decoded& decoded) {
  if (decoded.insn.mnemonic == ZYDIS_MNEMONIC_CALL) return kNotPreserved;
  std::uint16_t out = 0;
  for (const ZydisDecodedOperand& operand :
       std::span(decoded.operands).first(decoded.insn.operand_count)) {
    const bool writes = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (!writes || operand.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    const std::uint8_t number = number_of(operand.reg.value);
    if (number != kNoRegister) out = static_cast<std::uint16_t>(out | 1u << number);
  }
  return out;
}

}  // namespace

std::optional<Move> decode_move(std::span<const std::uint8_t> bytes, std::uint64_t ip) {
  Decoded decoded{};
  if (!decode_whole(bytes, decoded)) return std::nullopt;
  Move out{.changed = changed_by(decoded)};
  const auto& [to, from] = std::tie(decoded.operands[0], decoded.operands[1]);
  const bool moves = decoded.insn.mnemonic == ZYDIS_MNEMONIC_MOV;
  const bool computes = decoded.insn.mnemonic == ZYDIS_MNEMONIC_LEA;
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
  } else if (const auto memory = memory_of(from, decoded, ip)) {
    out.what = moves ? Move::What::load : Move::What::address;
    out.memory = *memory;
  } else {
    return out;
  }
  out.to = number_of(to.reg.value);
  return out;
}

std::optional<Pointer> decode_pointer(std::span<const std::uint8_t> bytes, std::uint64_t ip) {
  Decoded decoded{};
  if (!decode_whole(bytes, decoded)) return std::nullopt;
  const InsnClass cls = describe(decoded.insn, ip, Mode::bits64).cls;
  if (cls != InsnClass::icall && cls != InsnClass::ijmp) return std::nullopt;
  const ZydisDecodedOperand& operand = decoded.operands[0];
  if (is_whole(operand)) return Pointer{.in = number_of(operand.reg.value)};
  const auto memory = memory_of(operand, decoded, ip);
  return memory ? std::optional(Pointer{.memory = *memory}) : std::nullopt;
}

}  // namespace hodo::isa
