#include "hodo/isa/stack_step.h"

#include <Zydis/Mnemonic.h>
#include <Zydis/Register.h>

#include <algorithm>
#include <array>

#include "zydis_decoder.h"

namespace hodo::isa {
namespace {

struct Registers {
  ZydisRegister stack;
  ZydisRegister frame;
  std::int64_t word;
};

Registers registers_of(Mode mode) {
  if (mode == Mode::bits64) return {ZYDIS_REGISTER_RSP, ZYDIS_REGISTER_RBP, 8};
  return {ZYDIS_REGISTER_ESP, ZYDIS_REGISTER_EBP, 4};
}

using Operands = std::span<const ZydisDecodedOperand>;

bool is_register(const ZydisDecodedOperand& operand, ZydisRegister reg) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.reg.value == reg;
}

bool is_written(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

// PUSH and POP of a word, whatever it comes from or goes to.
std::optional<std::int64_t> words_pushed(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFD:
    case ZYDIS_MNEMONIC_PUSHFQ:
      return 1;
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFD:
    case ZYDIS_MNEMONIC_POPFQ:
      return -1;
    case ZYDIS_MNEMONIC_PUSHAD:
      return 8;
    case ZYDIS_MNEMONIC_POPAD:
      return -8;
    default:
      return std::nullopt;
  }
}

std::optional<std::int64_t> lowers(const ZydisDecodedInstruction& insn, Operands operands,
                                   const Registers& registers, InsnClass cls) {
  if (is_branch(cls)) return 0;
  if (const auto words = words_pushed(insn.mnemonic)) {
    const bool whole = insn.operand_width == registers.word * 8;
    const bool to_itself = *words < 0 && is_register(operands[0], registers.stack);
    return whole && !to_itself ? std::optional(*words * registers.word) : std::nullopt;
  }
  const auto changes = [&](const ZydisDecodedOperand& operand) {
    return is_register(operand, registers.stack) && is_written(operand);
  };
  if (std::ranges::none_of(operands, changes)) return 0;
  if (operands.size() < 2 || !is_register(operands[0], registers.stack)) return std::nullopt;
  const ZydisDecodedOperand& from = operands[1];
  const bool number = from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  if (insn.mnemonic == ZYDIS_MNEMONIC_SUB && number) return from.imm.value.s;
  if (insn.mnemonic == ZYDIS_MNEMONIC_ADD && number) return -from.imm.value.s;
  const bool moves = insn.mnemonic == ZYDIS_MNEMONIC_LEA && from.mem.base == registers.stack &&
                     from.mem.index == ZYDIS_REGISTER_NONE;
  return moves ? std::optional(-from.mem.disp.value) : std::nullopt;
}

// What PUSH and CALL write lies below the stack pointer, and is nobody's yet.
std::optional<StackPlace> written(ZydisMnemonic mnemonic, Operands operands,
                                  const Registers& registers) {
  for (const ZydisDecodedOperand& operand : operands) {
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || !is_written(operand)) continue;
    if (operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN) continue;
    if (operand.mem.index != ZYDIS_REGISTER_NONE) continue;
    const bool of_frame = operand.mem.base == registers.frame;
    if (!of_frame && operand.mem.base != registers.stack) continue;
    // POP finds its place when it has taken the word off (SDM vol. 2, "POP").
    const bool pops = mnemonic == ZYDIS_MNEMONIC_POP && !of_frame;
    return StackPlace{.of_frame = of_frame,
                      .distance = operand.mem.disp.value + (pops ? registers.word : 0)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<StackStep> decode_stack_step(std::span<const std::uint8_t> bytes, std::uint64_t ip,
                                           Mode mode) {
  ZydisDecodedInstruction insn;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> all{};
  const auto size = std::min<std::size_t>(bytes.size(), ZYDIS_MAX_INSTRUCTION_LENGTH);
  if (!ZYAN_SUCCESS(
          ZydisDecoderDecodeFull(&zydis_decoder(mode), bytes.data(), size, &insn, all.data()))) {
    return std::nullopt;
  }
  const Registers registers = registers_of(mode);
  const Operands operands = std::span(all).first(insn.operand_count);
  StackStep out{.insn = describe(insn, ip, mode), .lowers = {}, .writes = {}};
  out.lowers = lowers(insn, operands, registers, out.insn.cls);
  out.frames = insn.mnemonic == ZYDIS_MNEMONIC_MOV && is_register(operands[0], registers.frame) &&
               is_register(operands[1], registers.stack);
  out.writes = written(insn.mnemonic, operands, registers);
  return out;
}

}  // namespace hodo::isa
