#include "operand_fields.h"

#include <cstring>

namespace hodo::isa {
namespace {

using Map = OperandFields::Map;

Map map_of(const ZydisDecodedInstruction& insn) {
  if (insn.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY) return Map::other;
  if (insn.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT) return Map::one_byte;
  return insn.opcode_map == ZYDIS_OPCODE_MAP_0F ? Map::of_0f : Map::other;
}

// Little endian, of 1, 2, 4 or 8 bytes.
std::uint64_t number(const std::uint8_t* at, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, size);
  return value;
}

std::uint64_t sign_extended(std::uint64_t value, unsigned bits) {
  const unsigned above = 64 - bits;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << above) >> above);
}

// ModRM, SIB and displacement.
void read_modrm(const std::uint8_t* at, OperandFields& out) {
  out.has_modrm = true;
  out.mod = *at >> 6;
  out.modrm_reg = *at >> 3 & 7;
  out.modrm_rm = *at & 7;
  ++at;
  if (out.is_register()) return;
  if (out.has_sib()) {
    out.sib_base = *at & 7;
    out.sib_index = *at >> 3 & 7;
    ++at;
  }
  const bool alone = out.memory_base() == OperandFields::kNoBase;
  out.disp_size = out.mod == 1 ? 8 : out.mod == 2 || alone ? 32 : 0;
  if (out.disp_size == 0) return;
  const std::uint64_t value = number(at, out.disp_size / 8);
  out.disp = static_cast<std::int32_t>(sign_extended(value, out.disp_size));
}

// Which looks at no memory, and so at no segment.
bool is_lea(const CommonInsn& found) { return !found.in_0f && found.opcode == 0x8d; }

}  // namespace

OperandFields fields_of(const ZydisDecodedInstruction& insn) {
  constexpr ZyanU64 kSegments = ZYDIS_ATTRIB_HAS_SEGMENT_FS | ZYDIS_ATTRIB_HAS_SEGMENT_GS;
  const auto& raw = insn.raw;
  OperandFields out{.map = map_of(insn),
                    .opcode = insn.opcode,
                    .has_modrm = (insn.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0,
                    .mod = raw.modrm.mod,
                    .modrm_reg = raw.modrm.reg,
                    .modrm_rm = raw.modrm.rm,
                    .sib_base = raw.sib.base,
                    .sib_index = raw.sib.index,
                    .rex_r = raw.rex.R != 0,
                    .rex_x = raw.rex.X != 0,
                    .rex_b = raw.rex.B != 0,
                    .elsewhere = (insn.attributes & kSegments) != 0 || insn.address_width == 16,
                    .disp_size = raw.disp.size,
                    .disp = static_cast<std::int32_t>(raw.disp.value),
                    .operand_width = insn.operand_width};
  if (raw.imm[0].is_relative) return out;
  out.imm_size = raw.imm[0].size;
  out.imm = raw.imm[0].value.u;
  return out;
}

OperandFields fields_of(const CommonInsn& found, const std::uint8_t* bytes) {
  const bool wide = (found.rex & 8) != 0;
  OperandFields out{.map = found.in_0f ? Map::of_0f : Map::one_byte,
                    .opcode = found.opcode,
                    .rex_r = (found.rex & 4) != 0,
                    .rex_x = (found.rex & 2) != 0,
                    .rex_b = (found.rex & 1) != 0,
                    .elsewhere = (found.segment == 0x64 || found.segment == 0x65) && !is_lea(found),
                    .operand_width = static_cast<std::uint8_t>(wide              ? 64
                                                               : found.operand16 ? 16
                                                                                 : 32)};
  if (found.modrm_at != 0) read_modrm(bytes + found.modrm_at, out);
  if (found.imm_size == 0 || has_direct_target(found.cls)) return out;
  out.imm_size = static_cast<std::uint8_t>(8 * found.imm_size);
  out.imm = sign_extended(number(bytes + found.imm_at, found.imm_size), out.imm_size);
  return out;
}

}  // namespace hodo::isa
