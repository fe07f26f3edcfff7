#include "hodo/isa/encoding.h"

#include <algorithm>
#include <cstring>

#include "encoding_flags.h"
#include "encoding_shapes.h"

namespace hodo::isa {
namespace {

// Half-open parse state over at most 15 bytes.
struct Bytes {
  const std::uint8_t* data;
  unsigned size, at = 0;
  bool failed = false;

  std::uint8_t next() {
    if (at >= size) {
      failed = true;
      return 0;
    }
    return data[at++];
  }
  void skip(unsigned count) {
    if (count > size - at) {
      failed = true;
    } else {
      at += count;
    }
  }
};

InsnClass indirect_class(unsigned which) {
  switch (which) {
    case 2:
      return InsnClass::icall;
    case 3:
      return InsnClass::far_call;
    case 4:
      return InsnClass::ijmp;
    case 5:
      return InsnClass::far_jmp;
    default:
      return InsnClass::other;
  }
}

InsnClass one_byte_class(const Encoding& e) {
  const unsigned op = e.opcode;
  if (in(op, 0x70, 0x7f) || in(op, 0xe0, 0xe3)) return InsnClass::cond;
  switch (op) {
    case 0xc2:
    case 0xc3:
      return InsnClass::ret;
    case 0xc6:
    case 0xc7:
      if (e.modrm != 0xf8) return InsnClass::other;
      return op == 0xc7 ? InsnClass::xbegin : InsnClass::xabort;
    case 0xca:
    case 0xcb:
      return InsnClass::far_ret;
    case 0xcc:
    case 0xcd:
    case 0xf1:
      return InsnClass::int_;
    case 0xcf:
      return InsnClass::iret;
    case 0xe8:
      return InsnClass::call;
    case 0xe9:
    case 0xeb:
      return InsnClass::jmp;
    case 0xff:
      return indirect_class(e.modrm >> 3 & 7);
    default:
      return InsnClass::other;
  }
}

InsnClass map_0f_class(const Encoding& e) {
  const unsigned op = e.opcode;
  if (in(op, 0x80, 0x8f)) return InsnClass::cond;
  switch (op) {
    case 0x01:
      if (e.modrm == 0xc1) return InsnClass::vmexit;
      if (e.modrm == 0xec && e.rep == 0xf3) return InsnClass::iret;  // UIRET
      // ERETU and ERETS of FRED.
      if (e.modrm == 0xca && e.rep != 0) return InsnClass::iret;
      return e.modrm == 0xc2 || e.modrm == 0xc3 ? InsnClass::vmentry : InsnClass::other;
    case 0x05:
    case 0x34:
      return InsnClass::syscall;
    case 0x07:
    case 0x35:
      return InsnClass::sysret;
    case 0x22:
      return e.reg() == 3 ? InsnClass::mov_cr3 : InsnClass::other;
    case 0xae:
      return e.rep == 0xf3 && (e.modrm >> 3 & 7) == 4 ? InsnClass::ptwrite : InsnClass::other;
    default:
      return InsnClass::other;
  }
}

InsnClass branch_class(const Encoding& e) {
  if (e.form != Form::legacy) return InsnClass::other;
  if (e.map == 0) return one_byte_class(e);
  return e.map == 1 ? map_0f_class(e) : InsnClass::other;
}

// SIB.index is a vector register: gathers and scatters.
bool has_vector_index(const Encoding& e) {
  if (e.form == Form::legacy || e.map != 2) return false;
  return in(e.opcode, 0x90, 0x93) ||
         (e.form == Form::evex && (in(e.opcode, 0xa0, 0xa3) || in(e.opcode, 0xc6, 0xc7)));
}

class Decoder {
 public:
  Decoder(const std::uint8_t* bytes, std::size_t size)
      : in_{bytes, static_cast<unsigned>(std::min<std::size_t>(size, 15))} {}

  Encoding decode() {
    std::uint8_t opcode = prefixes();
    std::uint16_t shape = 0;
    if (opcode == 0xc4 || opcode == 0xc5) {
      shape = vex(opcode);
    } else if (opcode == 0x62) {
      shape = evex();
    } else {
      shape = legacy(opcode);
    }
    if (in_.failed || !(shape & kValid)) return {};
    if (shape & kModrm) modrm();
    shape = refine(shape);
    if (!(shape & kValid)) return {};
    immediates(shape);
    if (in_.failed) return {};
    name_registers(shape);
    e_.length = static_cast<std::uint8_t>(in_.at);
    e_.cls = branch_class(e_);
    if (is_left_to_processor()) return {};
    const FlagUse use = flag_use(e_, in_.data);
    e_.flags_read = use.read;
    e_.flags_killed = use.killed;
    return e_;
  }

 private:
  std::uint8_t here() const { return static_cast<std::uint8_t>(in_.at); }

  // Reads prefixes; the byte behind them. A REX prefix counts only right before the opcode.
  std::uint8_t prefixes() {
    while (!in_.failed) {
      const std::uint8_t at = here();
      const std::uint8_t byte = in_.next();
      switch (byte) {
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
          break;
        case 0x64:
        case 0x65:
          e_.segment = byte;
          break;
        case 0x66:
          e_.operand16 = true;
          break;
        case 0x67:
          e_.address32 = true;
          break;
        case 0xf0:
          e_.lock = true;
          break;
        case 0xf2:
        case 0xf3:
          e_.rep = byte;
          break;
        default:
          if ((byte & 0xf0) != 0x40) return byte;
          e_.rex = byte;
          e_.prefix_at = at;
          e_.has_prefix = true;
          continue;
      }
      e_.rex = 0;
      e_.has_prefix = false;
    }
    return 0;
  }

  std::uint16_t legacy(std::uint8_t opcode) {
    if (opcode == 0x0f) {
      e_.map = 1;
      opcode = in_.next();
      if (opcode == 0x38 || opcode == 0x3a) {
        e_.map = opcode == 0x38 ? 2 : 3;
        opcode = in_.next();
      }
    }
    set_opcode(opcode);
    return legacy_shape(e_.map, opcode);
  }

  void set_opcode(std::uint8_t opcode) {
    e_.opcode = opcode;
    e_.opcode_at = static_cast<std::uint8_t>(in_.at - 1);
  }

  std::uint16_t vex(std::uint8_t first) {
    // 66, F2, F3, LOCK and REX before VEX make it no instruction.
    if (e_.has_prefix || e_.operand16 || e_.rep != 0 || e_.lock) return 0;
    e_.prefix_at = static_cast<std::uint8_t>(in_.at - 1);
    e_.has_prefix = true;
    const std::uint8_t one = in_.next();
    e_.rex = static_cast<std::uint8_t>(0x40 | (~one >> 5 & 4));
    std::uint8_t last = one;
    e_.form = first == 0xc5 ? Form::vex2 : Form::vex3;
    e_.map = 1;
    if (first == 0xc4) {
      last = in_.next();
      e_.map = one & 0x1f;
      e_.rex = static_cast<std::uint8_t>(0x40 | (~one >> 5 & 7) | (last >> 4 & 8));
    }
    vvvv_ = ~last >> 3 & 15;
    pp_ = last & 3;
    set_opcode(in_.next());
    return vector_shape(e_.form, e_.map, e_.opcode);
  }

  std::uint16_t evex() {
    if (e_.has_prefix || e_.operand16 || e_.rep != 0 || e_.lock) return 0;
    e_.prefix_at = static_cast<std::uint8_t>(in_.at - 1);
    e_.has_prefix = true;
    e_.form = Form::evex;
    const std::uint8_t one = in_.next();
    const std::uint8_t two = in_.next();
    in_.skip(1);                                     // masks and rounding
    if ((one & 8) != 0 || (two & 4) == 0) return 0;  // reserved; APX gives them a meaning
    e_.map = one & 7;
    e_.rex = static_cast<std::uint8_t>(0x40 | (~one >> 5 & 7) | (two >> 4 & 8));
    vvvv_ = ~two >> 3 & 15;
    pp_ = two & 3;
    set_opcode(in_.next());
    return vector_shape(e_.form, e_.map, e_.opcode);
  }

  void modrm() {
    e_.modrm_at = here();
    e_.modrm = in_.next();
    const bool is_register = e_.modrm >= 0xc0 || moves_control_register();
    if (is_register) {
      if (e_.modrm < 0xc0) e_.modrm |= 0xc0;  // the processor does not look at mod either
      return;
    }
    const unsigned mod = e_.modrm >> 6;
    const unsigned rm = e_.modrm & 7;
    unsigned displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if (rm == 4) {
      e_.sib_at = here();
      const std::uint8_t sib = in_.next();
      base_ = (sib & 7) | (e_.rex & 1) << 3;
      const unsigned index = (sib >> 3 & 7) | (e_.rex & 2) << 2;
      if (index != 4 && !has_vector_index(e_)) index_ = static_cast<int>(index);
      if (mod == 0 && (sib & 7) == 5) {
        displacement = 4;
        base_ = -1;
      }
    } else if (mod == 0 && rm == 5) {
      displacement = 4;
      e_.rip_relative = true;
    } else {
      base_ = static_cast<int>(e_.rm());
    }
    if (displacement != 0) e_.disp_at = here();
    e_.disp_size = static_cast<std::uint8_t>(displacement);
    in_.skip(displacement);
  }

  bool moves_control_register() const {
    return e_.form == Form::legacy && e_.map == 1 && in(e_.opcode, 0x20, 0x23);
  }

  // Where ModRM, a prefix or a neighbour decides what an opcode is.
  std::uint16_t refine(std::uint16_t shape) const {
    const bool is_register = e_.modrm_at != 0 && e_.modrm >= 0xc0;
    const unsigned which = e_.modrm >> 3 & 7;
    if (e_.form != Form::legacy) {
      // VMOVQ and VMOVD: F3 0F 7E moves between vector registers.
      if (e_.map == 1 && e_.opcode == 0x7e && pp_ == 2) return shape & ~kGprRm;
      if (e_.map == 5 && (e_.opcode == 0x6e || e_.opcode == 0x7e) && pp_ == 2)
        return shape & ~kGprRm;
      // Conversions to integers have F2 or F3 (in map 5 F3); without, they are of vectors.
      if (e_.form == Form::evex && (e_.map == 1 || e_.map == 5)) {
        const bool scalar = pp_ == 2 || pp_ == 3;
        const bool converts = e_.opcode == 0x2a || e_.opcode == 0x2c || e_.opcode == 0x2d ||
                              e_.opcode == 0x78 || e_.opcode == 0x79 || e_.opcode == 0x7b;
        if (converts && !scalar) return shape & ~kGprs;
      }
      return shape;
    }
    if (e_.map == 0) {
      if (e_.opcode == 0x90 && e_.rep == 0xf3) return shape & ~kGprOpcode;      // PAUSE
      if ((e_.opcode | 1) == 0xc7 && e_.modrm == 0xf8) return shape & ~kGprRm;  // XBEGIN, XABORT
      if (e_.opcode == 0xf6 && which < 2) return shape | kImm8;
      if (e_.opcode == 0xf7 && which < 2) return shape | kImmZ;
      if (e_.opcode == 0x8f && which != 0) return 0;  // XOP
    }
    if (e_.map == 1) {
      if (e_.opcode == 0x7e && e_.rep == 0xf3) return shape & ~kGprRm;
      if (e_.opcode == 0x78 && (e_.operand16 || e_.rep == 0xf2)) return 0;  // SSE4A
      if (e_.opcode == 0x79 && (e_.operand16 || e_.rep == 0xf2)) return 0;
      // CVTPI2PS and its like move between MMX and SSE registers.
      if (in(e_.opcode, 0x2a, 0x2d) && e_.rep == 0) return shape & ~kGprs;
      if ((e_.opcode == 0x78 || e_.opcode == 0x79)) return shape;
      // RDFSBASE to WRGSBASE, INCSSP, PTWRITE, UMONITOR, UMWAIT, TPAUSE; fences name no register.
      if (e_.opcode == 0xae && is_register && e_.rep == 0 && !e_.operand16) return shape & ~kGprRm;
      // 0F 01: only SMSW and LMSW name a register.
      if (e_.opcode == 0x01 && is_register && which != 4 && which != 6) return shape & ~kGprRm;
    }
    if (e_.map == 2 && e_.opcode == 0xf6 && !e_.operand16 && e_.rep != 0xf3) {
      return is_register ? 0 : shape;  // WRSS
    }
    return shape;
  }

  // Branches with LOCK, which every processor refuses, and near ones with prefix 66, which AMD's
  // read as 16 bits wide, down to the new RIP, and Intel's as any other (APM vol. 3, "Near Branches
  // in 64-Bit Mode"; SDM vol. 2, JMP).
  bool is_left_to_processor() const {
    if (e_.cls == InsnClass::other) return false;
    const bool near = e_.cls == InsnClass::cond || e_.cls == InsnClass::jmp ||
                      e_.cls == InsnClass::call || e_.cls == InsnClass::ijmp ||
                      e_.cls == InsnClass::icall || e_.cls == InsnClass::ret;
    return e_.lock || (near && e_.operand16 && !(e_.rex & 8));
  }

  void immediates(std::uint16_t shape) {
    unsigned size = 0;
    if (shape & kImm8) size += 1;
    if (shape & kImm16) size += 2;
    const bool wide = (e_.rex & 8) != 0 && e_.form == Form::legacy;
    if (shape & kImmZ) size += e_.operand16 && !wide ? 2 : 4;
    if (shape & kImmV) size += wide ? 8 : e_.operand16 ? 2 : 4;
    if (shape & kOffset) size += e_.address32 ? 4 : 8;
    if (shape & kRel32) size += 4;
    if (size == 0) return;
    e_.imm_at = here();
    e_.imm_size = static_cast<std::uint8_t>(size);
    in_.skip(size);
  }

  void name(RegisterField field, unsigned reg) {
    e_.names[static_cast<std::size_t>(field)] = static_cast<std::uint8_t>(reg);
  }

  void name_registers(std::uint16_t shape) {
    const bool is_register = e_.modrm_at != 0 && e_.modrm >= 0xc0;
    if (base_ >= 0) name(RegisterField::base, static_cast<unsigned>(base_));
    if (index_ >= 0) name(RegisterField::index, static_cast<unsigned>(index_));
    if (shape & kGprReg) name(RegisterField::reg, e_.reg());
    if ((shape & kGprRm) && is_register) name(RegisterField::rm, e_.rm());
    if (shape & kGprVvvv) name(RegisterField::vvvv, vvvv_);
    // NOP and PAUSE seem to name RAX, which 90 does not without REX.B.
    if (shape & kGprOpcode) name(RegisterField::opcode, (e_.opcode & 7u) | (e_.rex & 1u) << 3);
  }

  Bytes in_;
  Encoding e_;
  unsigned vvvv_ = 0;
  unsigned pp_ = 0;
  int base_ = -1, index_ = -1;
};

}  // namespace

Encoding decode_encoding(const std::uint8_t* bytes, std::size_t size) {
  return Decoder(bytes, size).decode();
}

std::uint64_t direct_target(const Encoding& e, const std::uint8_t* bytes, std::uint64_t ip) {
  std::uint32_t distance = bytes[e.imm_at];
  std::uint64_t sign = 0x80;
  if (e.imm_size == sizeof(distance)) {
    std::memcpy(&distance, bytes + e.imm_at, sizeof(distance));
    sign = 0x8000'0000;
  }
  return ip + e.length + ((distance ^ sign) - sign);
}

}  // namespace hodo::isa
