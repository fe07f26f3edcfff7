// What follows an opcode in 64-bit mode, by opcode map.
#pragma once

#include <cstdint>

#include "hodo/isa/encoding.h"

namespace hodo::isa {

constexpr bool in(unsigned x, unsigned low, unsigned high) { return x >= low && x <= high; }

// What follows an opcode, and what is named by ModRM.
enum Shape : std::uint16_t {
  kModrm = 1 << 0,
  kImm8 = 1 << 1,
  kImmZ = 1 << 2,  // 16 bits with prefix 66, else 32
  kImmV = 1 << 3,  // as kImmZ, but 64 bits with REX.W
  kImm16 = 1 << 4,
  kOffset = 1 << 5,  // moffs: 64 bits, or 32 with prefix 67
  kRel32 = 1 << 6,
  kGprReg = 1 << 7,      // ModRM.reg is a general-purpose register
  kGprRm = 1 << 8,       // ModRM.rm is one, where it is no memory
  kGprVvvv = 1 << 9,     // VEX.vvvv is one
  kGprOpcode = 1 << 10,  // the opcode's low bits are one
  kValid = 1 << 11,
  kGprs = kGprReg | kGprRm,
};

// Of legacy encodings; `map` is at most 3.
std::uint16_t legacy_shape(unsigned map, std::uint8_t opcode);
// Of VEX and EVEX. They name the same registers with an opcode, but for a few that only one of them
// has. Encodings with AMX tiles and those of APX are not known here.
std::uint16_t vector_shape(Form form, unsigned map, unsigned op);

}  // namespace hodo::isa
