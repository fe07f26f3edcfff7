// What the sources of this module share: the Zydis decoder of each mode, set up once and used by
// all threads (decoding only reads it), and what becomes of its answer.
#pragma once

#include <Zydis/Decoder.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hodo/isa/insn.h"

namespace hodo::isa {

// Zydis's defaults are what we want: Intel's reading of 66-prefixed near branches in 64-bit mode
// (the prefix is ignored, the displacement stays 32 bits), CET, MPX, TZCNT and LZCNT known.
inline const ZydisDecoder& zydis_decoder(Mode mode) {
  static const std::array<ZydisDecoder, 3> decoders = [] {
    std::array<ZydisDecoder, 3> d{};
    ZydisDecoderInit(&d[0], ZYDIS_MACHINE_MODE_LONG_COMPAT_16, ZYDIS_STACK_WIDTH_16);
    ZydisDecoderInit(&d[1], ZYDIS_MACHINE_MODE_LONG_COMPAT_32, ZYDIS_STACK_WIDTH_32);
    ZydisDecoderInit(&d[2], ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return d;
  }();
  return decoders[static_cast<std::size_t>(mode)];
}

// One instruction without its operands; false where the bytes are none.
bool decode_zydis(std::span<const std::uint8_t> bytes, Mode mode, ZydisDecodedInstruction& insn);
// What hodoscope says of it.
Insn describe(const ZydisDecodedInstruction& insn, std::uint64_t ip, Mode mode);

}  // namespace hodo::isa
