#include "hodo/isa/operands.h"

#include <Zydis/Mnemonic.h>

#include <bit>

#include "zydis_decoder.h"

namespace hodo::isa {
namespace {

constexpr unsigned kRsp = 4;  // register numbers as ModRM has them, without REX
constexpr unsigned kRbp = 5;
constexpr unsigned kRegister = 3;  // ModRM.mod: the operand is a register
constexpr unsigned kNoBase = 16;   // no register's number

bool has_modrm(const ZydisDecodedInstruction& insn) {
  return (insn.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0;
}

// Of the legacy encoding, to which all instructions that matter here belong.
struct Fields {
  unsigned mod, reg, rm, base;  // reg, rm and base with their REX bits
  explicit Fields(const ZydisDecodedInstruction& insn)
      : mod(insn.raw.modrm.mod),
        reg(insn.raw.modrm.reg + 8u * insn.raw.rex.R),
        rm(insn.raw.modrm.rm + 8u * insn.raw.rex.B),
        base(insn.raw.sib.base + 8u * insn.raw.rex.B) {}
  bool is_register() const { return mod == kRegister; }
  // The register that a memory operand counts from. With ModRM.mod 0, the number of RBP, in a SIB
  // byte too, stands for a displacement alone (SDM vol. 2, tables 2-2, 2-3 and 2-7).
  unsigned memory_base(const ZydisDecodedInstruction& insn) const {
    const bool sib = insn.raw.modrm.rm == kRsp;
    const unsigned number = sib ? insn.raw.sib.base : insn.raw.modrm.rm;
    if (mod == 0 && number == kRbp) return kNoBase;
    return sib ? base : rm;
  }
};

StackUse loaded_from(unsigned reg) { return reg == kRbp ? StackUse::frame : StackUse::load; }

// MOV to another register than RSP.
StackUse of_load(const Fields& f, const ZydisDecodedInstruction& insn) {
  if (f.is_register()) {
    return f.reg == kRbp && f.rm == kRsp ? StackUse::set_frame : StackUse::other;
  }
  const unsigned base = f.memory_base(insn);
  if (base == kRsp) return StackUse::peek;
  return f.reg == kRbp && base != kRbp ? StackUse::load_frame : StackUse::other;
}

// MOV and LEA by opcode: 89 writes ModRM.rm, 8B and 8D write ModRM.reg.
StackUse of_move(const ZydisDecodedInstruction& insn) {
  if (insn.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || !has_modrm(insn)) return StackUse::other;
  const Fields f(insn);
  switch (insn.opcode) {
    case 0x89:
      if (f.is_register()) {
        if (f.rm == kRbp && f.reg == kRsp) return StackUse::set_frame;
        return f.rm == kRsp ? loaded_from(f.reg) : StackUse::other;
      }
      [[fallthrough]];
    case 0xc7:  // MOV [RSP], imm32
      return !f.is_register() && f.memory_base(insn) == kRsp && insn.raw.disp.value == 0
                 ? StackUse::store_top
                 : StackUse::other;
    case 0x8b:
      if (f.reg != kRsp) return of_load(f, insn);
      // What compilers save in a frame lies below RBP. Above, RBP points to something else.
      if (!f.is_register() && insn.raw.disp.value >= 0) return StackUse::load;
      return f.is_register() ? loaded_from(f.rm) : loaded_from(f.memory_base(insn));
    case 0x8d: {
      if (f.reg == kRbp && f.memory_base(insn) == kRsp) return StackUse::set_frame;
      if (f.reg != kRsp) return StackUse::other;
      const unsigned base = f.memory_base(insn);
      return base == kRsp ? StackUse::other
                          : loaded_from(base);  // LEA RSP, [RSP + n] only moves it
    }
    default:
      return StackUse::other;
  }
}

// ADD RSP, REG goes as far as another stack is away; what only takes room off the stack has a
// constant, and alloca() subtracts. 01 writes ModRM.rm, 03 ModRM.reg.
StackUse of_sum(const ZydisDecodedInstruction& insn) {
  if (insn.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || !has_modrm(insn)) return StackUse::other;
  const Fields f(insn);
  const bool to_rm = insn.opcode == 0x01 && f.is_register() && f.rm == kRsp;
  const bool to_reg = insn.opcode == 0x03 && f.reg == kRsp;
  return to_rm || to_reg ? StackUse::load : StackUse::other;
}

StackUse stack_use(const ZydisDecodedInstruction& insn) {
  switch (insn.mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
      return StackUse::push;
    case ZYDIS_MNEMONIC_LEAVE:
      return StackUse::frame;
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_LEA:
      return of_move(insn);
    case ZYDIS_MNEMONIC_ADD:
      return of_sum(insn);
    case ZYDIS_MNEMONIC_POP:  // 5C: POP RSP; 8F /0 with RSP does not occur
      return insn.opcode == 0x5c && insn.raw.rex.B == 0 ? StackUse::load : StackUse::other;
    case ZYDIS_MNEMONIC_XCHG:
      if (insn.opcode == 0x94) return insn.raw.rex.B == 0 ? StackUse::load : StackUse::other;
      if (!has_modrm(insn) || !Fields(insn).is_register()) return StackUse::other;
      return Fields(insn).reg == kRsp || Fields(insn).rm == kRsp ? StackUse::load : StackUse::other;
    default:
      return StackUse::other;
  }
}

bool is_in_memory(const ZydisDecodedInstruction& insn) {
  constexpr ZyanU64 kElsewhere = ZYDIS_ATTRIB_HAS_SEGMENT_FS | ZYDIS_ATTRIB_HAS_SEGMENT_GS;
  const bool wide = insn.address_width != 16;  // ModRM means other things there
  return wide && has_modrm(insn) && insn.raw.modrm.mod != kRegister &&
         (insn.attributes & kElsewhere) == 0;
}

std::uint64_t cut_to(Mode mode, std::uint64_t value) {
  return mode == Mode::bits64 ? value : value & 0xffffffff;
}

// Memory operands that name an address by themselves: [RIP + disp32], in 32-bit code [disp32]; and
// [disp32] in a SIB byte without base and index. FS and GS count from elsewhere.
std::optional<std::uint64_t> address_of(const ZydisDecodedInstruction& insn, std::uint64_t ip,
                                        Mode mode) {
  if (!is_in_memory(insn) || insn.raw.modrm.mod != 0) return std::nullopt;
  const auto displacement = static_cast<std::uint64_t>(insn.raw.disp.value);
  if (insn.raw.modrm.rm == 5) {
    return mode == Mode::bits64 ? ip + insn.length + displacement : cut_to(mode, displacement);
  }
  const bool alone = insn.raw.modrm.rm == 4 && insn.raw.sib.base == 5 && insn.raw.sib.index == 4 &&
                     insn.raw.rex.X == 0;
  return alone ? std::optional(cut_to(mode, displacement)) : std::nullopt;
}

// Fills in `distance` and what it is one of. With ModRM.mod 2 it counts from the base; with mod 0
// and a SIB byte whose base is 5, there is an index alone (SDM vol. 2, table 2-3).
void add_distance(const ZydisDecodedInstruction& insn, Operands& out) {
  if (!is_in_memory(insn) || insn.raw.disp.size != 32) return;
  const auto& sib = insn.raw.sib;
  const bool has_sib = insn.raw.modrm.rm == 4;
  const bool has_index = has_sib && sib.index != 4;
  const unsigned base = has_sib ? sib.base : insn.raw.modrm.rm;
  out.based = insn.raw.modrm.mod == 2;
  if (out.based ? base == kRsp : !has_index) return;
  out.distance = static_cast<std::int32_t>(insn.raw.disp.value);
  out.indexed = has_index;
}

std::optional<std::uint64_t> immediate_of(const ZydisDecodedInstruction& insn, Mode mode) {
  const auto& imm = insn.raw.imm[0];
  if (imm.size < 32 || imm.is_relative) return std::nullopt;
  return cut_to(mode, imm.value.u);
}

std::optional<unsigned> bits_of_mask(std::int64_t mask) {
  const auto bits = static_cast<std::uint64_t>(mask);
  if (mask > 0 && (bits & (bits + 1)) == 0) return std::popcount(bits);
  if (mask < 0 && std::has_single_bit(~bits + 1)) return std::countr_zero(bits);
  return std::nullopt;
}

// AND by opcode 25 (EAX), 81 and 83; SHL by C1.
std::optional<unsigned> low_bits_of(const ZydisDecodedInstruction& insn) {
  if (insn.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || insn.raw.imm[0].size == 0) return std::nullopt;
  const bool to_rax = insn.opcode == 0x25;
  if (!to_rax) {
    if (!has_modrm(insn) || !Fields(insn).is_register() || Fields(insn).rm == kRsp) {
      return std::nullopt;
    }
  }
  const std::uint64_t value = insn.raw.imm[0].value.u;
  if (insn.mnemonic == ZYDIS_MNEMONIC_SHL && insn.opcode == 0xc1) {
    return insn.operand_width - (value & (insn.operand_width - 1u));
  }
  if (insn.mnemonic != ZYDIS_MNEMONIC_AND) return std::nullopt;
  const bool byte = insn.opcode == 0x83;
  if (!byte && !to_rax && insn.opcode != 0x81) return std::nullopt;
  return bits_of_mask(byte ? std::int64_t{static_cast<std::int8_t>(value)}
                           : std::int64_t{static_cast<std::int32_t>(value)});
}

}  // namespace

std::optional<Operands> decode_operands(std::span<const std::uint8_t> bytes, std::uint64_t ip,
                                        Mode mode) {
  ZydisDecodedInstruction insn;
  if (!decode_zydis(bytes, mode, insn)) return std::nullopt;
  Operands out{.insn = describe(insn, ip, mode),
               .stack = stack_use(insn),
               .address = address_of(insn, ip, mode),
               .computes = insn.mnemonic == ZYDIS_MNEMONIC_LEA,
               .immediate = immediate_of(insn, mode),
               .low_bits = low_bits_of(insn),
               .releases = insn.mnemonic == ZYDIS_MNEMONIC_RET && insn.raw.imm[0].size != 0};
  if (mode == Mode::bits32) add_distance(insn, out);
  return out;
}

}  // namespace hodo::isa
