#include "hodo/isa/operands.h"

#include <bit>
#include <tuple>

#include "operand_fields.h"

namespace hodo::isa {
namespace {

using Fields = OperandFields;
constexpr unsigned kRsp = Fields::kRsp;
constexpr unsigned kRbp = Fields::kRbp;

StackUse loaded_from(unsigned reg) { return reg == kRbp ? StackUse::frame : StackUse::load; }

// MOV to another register than RSP.
StackUse of_load(const Fields& f) {
  if (f.is_register()) {
    if (f.reg() != kRbp) return StackUse::other;
    return f.rm() == kRsp ? StackUse::set_frame : StackUse::copy_frame;
  }
  const unsigned base = f.memory_base();
  if (base == kRsp) return StackUse::peek;
  return f.reg() == kRbp && base != kRbp ? StackUse::load_frame : StackUse::other;
}

// MOV to RSP.
StackUse of_load_of_stack(const Fields& f) {
  if (f.is_register()) return loaded_from(f.rm());
  // What compilers save in a frame lies below RBP. Above, RBP points to something else.
  return f.disp >= 0 ? StackUse::load : loaded_from(f.memory_base());
}

StackUse of_store(const Fields& f) {
  if (f.is_register()) return StackUse::other;
  return f.memory_base() == kRsp && f.disp == 0 ? StackUse::store_top : StackUse::other;
}

StackUse of_move_to_rm(const Fields& f) {
  if (!f.is_register()) return of_store(f);
  if (f.rm() == kRbp) return f.reg() == kRsp ? StackUse::set_frame : StackUse::copy_frame;
  return f.rm() == kRsp ? loaded_from(f.reg()) : StackUse::other;
}

StackUse of_lea(const Fields& f) {
  const unsigned base = f.memory_base();
  if (f.reg() == kRbp && base == kRsp) return StackUse::set_frame;
  // LEA RSP, [RSP + n] only moves it.
  return f.reg() != kRsp || base == kRsp ? StackUse::other : loaded_from(base);
}

StackUse of_exchange(const Fields& f) {
  const bool of_stack = f.is_register() && (f.reg() == kRsp || f.rm() == kRsp);
  return of_stack ? StackUse::load : StackUse::other;
}

StackUse load_if(bool is) { return is ? StackUse::load : StackUse::other; }

// Of the one-byte map, as all instructions that matter here, but PUSH FS and PUSH GS.
StackUse stack_use(const Fields& f) {
  if (f.map == Fields::Map::of_0f && (f.opcode == 0xa0 || f.opcode == 0xa8)) return StackUse::push;
  if (f.map != Fields::Map::one_byte) return StackUse::other;
  switch (f.opcode) {
    // ADD RSP, REG goes as far as another stack is away; what only takes room off the stack has a
    // constant, and alloca() subtracts.
    case 0x01:
      return load_if(f.is_register() && f.rm() == kRsp);
    case 0x03:
      return load_if(f.reg() == kRsp);
    case 0x06:  // PUSH of ES, CS, SS, DS, in 32-bit code
    case 0x0e:
    case 0x16:
    case 0x1e:
    case 0x50:
    case 0x51:
    case 0x52:
    case 0x53:
    case 0x54:
    case 0x55:
    case 0x56:
    case 0x57:
    case 0x68:
    case 0x6a:
      return StackUse::push;
    case 0xff:
      return f.modrm_reg == 6 ? StackUse::push : StackUse::other;
    case 0x5c:  // POP RSP; 8F /0 with RSP does not occur
    case 0x94:  // XCHG
      return load_if(!f.rex_b);
    case 0x86:
    case 0x87:
      return of_exchange(f);
    case 0x89:
      return of_move_to_rm(f);
    case 0x8b:
      return f.reg() == kRsp ? of_load_of_stack(f) : of_load(f);
    case 0x8d:
      return of_lea(f);
    case 0xc7:  // MOV [RSP], imm32
      return of_store(f);
    case 0xc9:
      return StackUse::frame;
    default:
      return StackUse::other;
  }
}

std::uint64_t cut_to(Mode mode, std::uint64_t value) {
  return mode == Mode::bits64 ? value : value & 0xffffffff;
}

// Memory operands that name an address by themselves: [RIP + disp32], in 32-bit code [disp32]; and
// [disp32] in a SIB byte without base and index. FS and GS count from elsewhere.
std::optional<std::uint64_t> address_of(const Fields& f, std::uint64_t next, Mode mode) {
  if (!f.is_memory() || f.memory_base() != Fields::kNoBase) return std::nullopt;
  const auto displacement = static_cast<std::uint64_t>(std::int64_t{f.disp});
  if (!f.has_sib()) return mode == Mode::bits64 ? next + displacement : cut_to(mode, displacement);
  const bool alone = f.sib_index == kRsp && !f.rex_x;
  return alone ? std::optional(cut_to(mode, displacement)) : std::nullopt;
}

// Fills in `distance` and what it is one of. With ModRM.mod 2 it counts from the base; with mod 0
// and a SIB byte whose base is 5, there is an index alone (SDM vol. 2, table 2-3).
void add_distance(const Fields& f, Operands& out) {
  if (!f.is_memory() || f.disp_size != 32) return;
  const bool has_index = f.has_sib() && f.sib_index != kRsp;
  const unsigned base = f.has_sib() ? f.sib_base : f.modrm_rm;
  out.based = f.mod == 2;
  if (out.based ? base == kRsp : !has_index) return;
  out.distance = f.disp;
  out.indexed = has_index;
}

std::optional<std::uint64_t> immediate_of(const Fields& f, Mode mode) {
  if (f.imm_size < 32) return std::nullopt;
  return cut_to(mode, f.imm);
}

std::optional<unsigned> bits_of_mask(std::int64_t mask) {
  const auto bits = static_cast<std::uint64_t>(mask);
  if (mask > 0 && (bits & (bits + 1)) == 0) return std::popcount(bits);
  if (mask < 0 && std::has_single_bit(~bits + 1)) return std::countr_zero(bits);
  return std::nullopt;
}

// AND by opcode 25 (EAX), 81 and 83; SHL by C1.
std::optional<unsigned> low_bits_of(const Fields& f) {
  constexpr unsigned kAnd = 4, kShl = 4, kShlToo = 6;
  const auto mask = [&] { return bits_of_mask(static_cast<std::int32_t>(f.imm)); };
  if (f.is(0x25)) return mask();
  if (!f.is_register() || f.rm() == kRsp) return std::nullopt;
  if (f.is(0xc1) && (f.modrm_reg == kShl || f.modrm_reg == kShlToo)) {
    return f.operand_width - static_cast<unsigned>(f.imm & (f.operand_width - 1u));
  }
  if (f.modrm_reg != kAnd) return std::nullopt;
  if (f.is(0x83)) return bits_of_mask(static_cast<std::int8_t>(f.imm));
  return f.is(0x81) ? mask() : std::nullopt;
}

Operands operands(const Insn& insn, const Fields& f, std::uint64_t ip, Mode mode) {
  const bool returns = insn.cls == InsnClass::ret || insn.cls == InsnClass::far_ret;
  Operands out{.insn = insn,
               .stack = stack_use(f),
               .address = address_of(f, ip + insn.length, mode),
               .computes = f.is(0x8d),
               .immediate = immediate_of(f, mode),
               .low_bits = low_bits_of(f),
               .releases = returns && f.imm_size != 0};
  if (mode == Mode::bits32) add_distance(f, out);
  return out;
}

}  // namespace

bool same(const Operands& a, const Operands& b) {
  const auto all = [](const Operands& o) {
    return std::tie(o.insn.length, o.insn.cls, o.insn.target, o.stack, o.address, o.distance,
                    o.indexed, o.based, o.computes, o.immediate, o.low_bits, o.releases);
  };
  return all(a) == all(b);
}

std::optional<Operands> decode_operands_by_zydis(std::span<const std::uint8_t> bytes,
                                                 std::uint64_t ip, Mode mode) {
  ZydisDecodedInstruction insn;
  if (!decode_zydis(bytes, mode, insn)) return std::nullopt;
  return operands(describe(insn, ip, mode), fields_of(insn), ip, mode);
}

std::optional<Operands> decode_operands(std::span<const std::uint8_t> bytes, std::uint64_t ip,
                                        Mode mode) {
  const auto found = find_common(bytes, mode);
  if (!found) return decode_operands_by_zydis(bytes, ip, mode);
  const std::uint8_t* at = bytes.data();
  return operands(describe(*found, at, ip, mode), fields_of(*found, at), ip, mode);
}

}  // namespace hodo::isa
