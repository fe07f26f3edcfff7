#include "hodo/isa/disasm.h"

#include <Zydis/Formatter.h>

#include <algorithm>
#include <array>

#include "zydis_decoder.h"

namespace hodo::isa {
namespace {

const ZydisFormatter& formatter() {
  static const ZydisFormatter intel = [] {
    ZydisFormatter f;
    ZydisFormatterInit(&f, ZYDIS_FORMATTER_STYLE_INTEL);
    return f;
  }();
  return intel;
}

}  // namespace

std::string disassemble(std::span<const std::uint8_t> bytes, std::uint64_t ip, Mode mode) {
  ZydisDecodedInstruction insn;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands{};
  const auto size = std::min<std::size_t>(bytes.size(), ZYDIS_MAX_INSTRUCTION_LENGTH);
  std::array<char, 256> text{};
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis_decoder(mode), bytes.data(), size, &insn,
                                           operands.data())) ||
      !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter(), &insn, operands.data(),
                                                    insn.operand_count_visible, text.data(),
                                                    text.size(), ip, nullptr))) {
    return "(bad)";
  }
  return text.data();
}

}  // namespace hodo::isa
