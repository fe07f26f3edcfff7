// How a 64-bit instruction is encoded: what somebody needs who copies instructions to another
// place, lets another register stand for one, and wants to know where the status flags are free.
// decode() says what an instruction does to the path; this says where in its bytes things are.
//
// Freestanding: no allocation, no library calls, no tables to set up. One pass over the bytes, no
// operands. Source: Intel SDM vol. 2, chapter 2 (formats) and appendix A (opcode maps); AMD APM
// vol. 3 for SSE4A.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hodo/isa/insn.h"

namespace hodo::isa {

// The six status flags, as sets.
enum Flags : std::uint8_t {
  kCf = 1 << 0,
  kPf = 1 << 1,
  kAf = 1 << 2,
  kZf = 1 << 3,
  kSf = 1 << 4,
  kOf = 1 << 5,
  kAllFlags = 0x3f,
};

// Where an encoding can name a general-purpose register.
enum class RegisterField : std::uint8_t {
  reg,     // ModRM.reg
  rm,      // ModRM.rm, no memory operand
  base,    // of a memory operand, in ModRM.rm or SIB.base
  index,   // SIB.index
  vvvv,    // VEX.vvvv or EVEX.vvvv
  opcode,  // low bits of the opcode
};
inline constexpr std::size_t kRegisterFields = 6;

enum class Form : std::uint8_t { legacy, vex2, vex3, evex };

struct Encoding {
  std::uint8_t length = 0;  // bytes, 1 to 15; 0: no instruction, or none that is known here
  InsnClass cls = InsnClass::other;
  Form form = Form::legacy;
  std::uint8_t map = 0;  // opcode map: 0 one-byte, 1 0F, 2 0F38, 3 0F3A, 5 and 6 (EVEX)
  std::uint8_t opcode = 0;
  std::uint8_t rex = 0;  // the REX prefix; of VEX and EVEX their bits in REX's order. 0: none
  // Offsets in the instruction; 0: absent. `prefix_at` is REX, or the first byte of VEX or EVEX.
  std::uint8_t prefix_at = 0;
  bool has_prefix = false;  // prefix_at counts (it may be 0)
  std::uint8_t opcode_at = 0;
  std::uint8_t modrm_at = 0;
  std::uint8_t sib_at = 0;
  std::uint8_t disp_at = 0, disp_size = 0;
  std::uint8_t imm_at = 0, imm_size = 0;
  std::uint8_t modrm = 0;
  bool rip_relative = false;
  bool operand16 = false;  // prefix 66
  bool address32 = false;  // prefix 67
  bool lock = false;
  std::uint8_t rep = 0;           // F2 or F3 if present
  std::uint8_t segment = 0;       // 64 (FS) or 65 (GS) if present
  std::uint8_t flags_read = 0;    // Flags; never too few
  std::uint8_t flags_killed = 0;  // Flags whose value before is gone behind it; never too many
  // The register that each RegisterField names; kNone: none. Registers that an instruction uses by
  // itself (RAX of MUL) are in no field; of R8 to R15 only SYSCALL uses one so.
  static constexpr std::uint8_t kNone = 0xff;
  std::uint8_t names[kRegisterFields] = {kNone, kNone, kNone, kNone, kNone, kNone};

  std::uint8_t named(RegisterField field) const { return names[static_cast<std::size_t>(field)]; }
  // Of all fields, by bit.
  std::uint16_t registers() const {
    unsigned all = 0;
    for (const std::uint8_t name : names) {
      if (name != kNone) all |= 1u << name;
    }
    return static_cast<std::uint16_t>(all);
  }

  bool has_memory() const { return modrm_at != 0 && modrm < 0xc0; }
  unsigned reg() const { return (modrm >> 3 & 7) | (rex & 4) << 1; }
  unsigned rm() const { return (modrm & 7) | (rex & 1) << 3; }
};

// Decodes the instruction that starts at bytes[0]. `size`: how many bytes can be read; more than 15
// are not.
Encoding decode_encoding(const std::uint8_t* bytes, std::size_t size);

// Where the direct branch that lies at `ip` and has these bytes leads (has_direct_target()).
std::uint64_t direct_target(const Encoding& e, const std::uint8_t* bytes, std::uint64_t ip);

}  // namespace hodo::isa
