// The instructions that compilers use most, decoded by a table of their encodings: many times
// faster than a decoder that knows them all. What is not in the table is left to that one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "hodo/isa/insn.h"

namespace hodo::isa {

// Where the fields of an instruction lie that is in the table.
struct CommonInsn {
  std::uint8_t length = 0;
  InsnClass cls = InsnClass::other;
  bool in_0f = false;  // the 0F map, otherwise the one-byte map
  std::uint8_t opcode = 0;
  bool operand16 = false;     // prefix 66
  std::uint8_t rex = 0;       // 0: none
  std::uint8_t segment = 0;   // prefix; 0: none
  std::uint8_t modrm_at = 0;  // 0: none
  std::uint8_t imm_at = 0;    // of the immediate, or of a branch's displacement
  std::uint8_t imm_size = 0;  // bytes
};

// nullopt: ask Zydis. Never an answer for bytes that Zydis takes for no instruction.
std::optional<CommonInsn> find_common(std::span<const std::uint8_t> bytes, Mode mode);

// What decode() says of an instruction that find_common() found in these bytes.
Insn describe(const CommonInsn& found, const std::uint8_t* bytes, std::uint64_t ip, Mode mode);
// Both in one.
std::optional<Insn> decode_common(std::span<const std::uint8_t> bytes, std::uint64_t ip, Mode mode);

// decode() by Zydis alone: for everything else, and what decode_common() is tested against.
std::optional<Insn> decode_by_zydis(std::span<const std::uint8_t> bytes, std::uint64_t ip,
                                    Mode mode);

}  // namespace hodo::isa
