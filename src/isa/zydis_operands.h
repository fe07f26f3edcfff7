// An instruction of 64-bit code with its operands, as Zydis has them.
#pragma once

#include <Zydis/Decoder.h>
#include <Zydis/Register.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "hodo/isa/moves.h"
#include "zydis_decoder.h"

namespace hodo::isa {

struct WholeInsn {
  ZydisDecodedInstruction insn;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  std::span<const ZydisDecodedOperand> all() const {
    return std::span(operands).first(insn.operand_count);
  }
};

inline bool decode_whole(std::span<const std::uint8_t> bytes, WholeInsn& out) {
  const auto size = std::min<std::size_t>(bytes.size(), ZYDIS_MAX_INSTRUCTION_LENGTH);
  return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis_decoder(Mode::bits64), bytes.data(), size,
                                             &out.insn, out.operands.data()));
}

// Of a general register of any width the number of the whole.
inline std::uint8_t number_of(ZydisRegister reg) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15) return kNoRegister;
  return static_cast<std::uint8_t>(whole - ZYDIS_REGISTER_RAX);
}

// nullopt: no memory, or with a segment's base.
inline std::optional<Memory> memory_of(const ZydisDecodedOperand& operand,
                                       const ZydisDecodedInstruction& insn, std::uint64_t ip) {
  if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) return std::nullopt;
  const auto& mem = operand.mem;
  if (mem.segment == ZYDIS_REGISTER_FS || mem.segment == ZYDIS_REGISTER_GS) return std::nullopt;
  Memory out{
      .base = number_of(mem.base), .index = number_of(mem.index), .displacement = mem.disp.value};
  const auto distance = static_cast<std::uint64_t>(mem.disp.value);
  if (mem.base == ZYDIS_REGISTER_RIP) {
    out.address = ip + insn.length + distance;
  } else if (out.base == kNoRegister && out.index == kNoRegister) {
    out.address = distance;
  }
  return out;
}

}  // namespace hodo::isa
