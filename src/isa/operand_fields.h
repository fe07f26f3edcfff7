// The fields of an instruction's encoding that its operands are read from, whoever decoded it.
//
// Source: Intel SDM vol. 2, section 2.1 and tables 2-2, 2-3 and 2-7.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common_insns.h"
#include "hodo/isa/operands.h"
#include "zydis_decoder.h"

namespace hodo::isa {

struct OperandFields {
  enum class Map : std::uint8_t { one_byte, of_0f, other };  // other: also VEX, EVEX and XOP
  static constexpr unsigned kRsp = 4;  // register numbers as ModRM and SIB have them, without REX
  static constexpr unsigned kRbp = 5;
  static constexpr unsigned kNoBase = 16;  // no register's number

  Map map = Map::other;
  std::uint8_t opcode = 0;
  bool has_modrm = false;
  std::uint8_t mod = 0, modrm_reg = 0, modrm_rm = 0;
  std::uint8_t sib_base = 0, sib_index = 0;  // of memory whose ModRM.rm says that there is a SIB
  bool rex_r = false, rex_x = false, rex_b = false;
  bool elsewhere = false;  // memory counts from FS or GS, or ModRM means what it does in 16 bits
  std::uint8_t disp_size = 0;  // bits
  std::int32_t disp = 0;
  std::uint8_t imm_size = 0;       // bits; 0: none, or it is a branch's displacement
  std::uint64_t imm = 0;           // sign-extended from that, where Zydis has no other reading
  std::uint8_t operand_width = 0;  // bits

  bool is(std::uint8_t one_byte_opcode) const {
    return map == Map::one_byte && opcode == one_byte_opcode;
  }
  unsigned reg() const { return modrm_reg + (rex_r ? 8u : 0u); }
  unsigned rm() const { return modrm_rm + (rex_b ? 8u : 0u); }
  bool is_register() const { return mod == 3; }
  bool is_memory() const { return has_modrm && mod != 3 && !elsewhere; }
  bool has_sib() const { return modrm_rm == kRsp; }
  // The register that a memory operand counts from. With ModRM.mod 0, the number of RBP, in a SIB
  // byte too, stands for a displacement alone.
  unsigned memory_base() const {
    const unsigned number = has_sib() ? sib_base : modrm_rm;
    if (mod == 0 && number == kRbp) return kNoBase;
    return number + (rex_b ? 8u : 0u);
  }
};

OperandFields fields_of(const ZydisDecodedInstruction& insn);
// `bytes`: those that find_common() found it in.
OperandFields fields_of(const CommonInsn& found, const std::uint8_t* bytes);

// decode_operands() by Zydis alone: for everything else, and what the other is tested against.
std::optional<Operands> decode_operands_by_zydis(std::span<const std::uint8_t> bytes,
                                                 std::uint64_t ip, Mode mode);

// Whether both say the same.
bool same(const Operands& a, const Operands& b);

}  // namespace hodo::isa
