#include "copy_insn.h"

#include <cstring>

#include "area_code.h"
#include "arena.h"
#include "sys.h"

namespace hodo::engine {
namespace {

using isa::Encoding;

// Names `stand_in` in the place of `reg`, which is one of ours.
void rename(const Encoding& e, std::uint8_t* insn, unsigned reg, Reg stand_in) {
  using isa::RegisterField;
  const auto bits = static_cast<std::uint8_t>(stand_in & 7);
  const auto set = [&](RegisterField field, unsigned at, unsigned shift) {
    if (e.named(field) != reg) return;
    insn[at] = static_cast<std::uint8_t>((insn[at] & ~(7u << shift)) | bits << shift);
    if (stand_in >= r8) return;  // as ours
    const unsigned extends = field == RegisterField::index ? 2 : 1;
    insn[e.prefix_at] = static_cast<std::uint8_t>(insn[e.prefix_at] & ~extends);
  };
  set(RegisterField::reg, e.modrm_at, 3);
  set(RegisterField::rm, e.modrm_at, 0);
  set(RegisterField::base, e.sib_at != 0 ? e.sib_at : e.modrm_at, 0);
  set(RegisterField::index, e.sib_at, 3);
  set(RegisterField::opcode, e.opcode_at, 0);
  if (e.named(RegisterField::vvvv) == reg) {
    const unsigned at = e.prefix_at + (e.form == isa::Form::vex2 ? 1u : 2u);
    insn[at] = static_cast<std::uint8_t>((insn[at] & ~0x78u) | (~unsigned{stand_in} & 15u) << 3);
  }
}

// The bit says nothing as long as there is no register (SDM vol. 2, 2.2.1.6).
void clear_extension_of_base(const Encoding& e, std::uint8_t* insn) {
  if (e.form == isa::Form::legacy) insn[e.prefix_at] &= 0xfe;
  if (e.form == isa::Form::vex3 || e.form == isa::Form::evex) insn[e.prefix_at + 1] |= 0x20;
}

}  // namespace

void InsnCopier::copy(const Encoding& e, std::uint64_t ip) {
  std::uint8_t insn[16];
  std::memcpy(insn, code(ip), e.length);
  if (copies_simply(e)) return copy_simply(e);
  const InPlace place = in_place(e);
  if (place != InPlace::no) return copy_in_place(e, insn, place);
  copy_bytes(e, insn, ip + e.length, true);
}

// With the place of our register in memory instead: in_place().
void InsnCopier::copy_in_place(const Encoding& e, const std::uint8_t* insn, InPlace place) {
  const unsigned wide = e.rex & 8;
  if (place == InPlace::both) {  // CMP 0 for TEST, AND 0 for XOR, which clears all 64 bits
    const bool test = e.opcode == 0x85;
    hot_.bytes({0x41 | (test ? wide : 8), 0x83});
    hot_.operand(test ? 7 : 4, taken(e.rm()));
    return hot_.byte(0);
  }
  const bool turned = place == InPlace::reg;
  const unsigned ours = turned ? e.reg() : e.rm();
  const unsigned other = turned ? e.rm() : e.modrm >> 3 & 7;
  const unsigned rex_r = turned ? (e.rex & 1u) << 2 : e.rex & 4u;
  hot_.copy(insn, e.prefix_at);
  hot_.byte(0x41 | wide | rex_r);
  hot_.copy(insn + e.prefix_at + 1, e.opcode_at - e.prefix_at - 1u);
  hot_.byte(turned ? operands(e).turned : e.opcode);
  hot_.operand(other & 7, taken(ours));
  hot_.copy(insn + e.modrm_at + 1, e.length - e.modrm_at - 1u);
}

// Without another register, where copies_simply().
void InsnCopier::copy_simply(const Encoding& e) {
  if ((e.opcode & 0xf0) == 0x50) {
    const bool push = e.opcode < 0x58;
    hot_.bytes({0x41, push ? 0xffu : 0x8fu});
    hot_.operand(push ? 6 : 0, taken(e.named(isa::RegisterField::opcode)));
    return;
  }
  const unsigned from = e.opcode == 0x89 ? e.reg() : e.rm();
  const unsigned to = e.opcode == 0x89 ? e.rm() : e.reg();
  if (is_taken(from)) {
    hot_.load(static_cast<Reg>(to), taken(from));
  } else {
    hot_.store(taken(to), static_cast<Reg>(from));
  }
}

// Emits the instruction with other registers in the place of ours, and with its displacement from
// RIP mended. `insn` lay before `behind`.
void InsnCopier::copy_bytes(const Encoding& e, std::uint8_t* insn, std::uint64_t behind,
                            bool may_write) {
  const StandIns stand = stand_ins(e);
  const bool faults = e.map != 0 || e.opcode != 0x8d;  // all but LEA
  for (const unsigned i : {0u, 1u}) {
    const StandIns::One& one = stand.of[i];
    if (one.reg == StandIns::kNone) continue;
    const auto reg = static_cast<Reg>(one.reg);
    if (one.comes_back || faults) hot_.store(scratch(r10 + i), reg);
    if (one.is_read) hot_.load(reg, taken(r10 + i));
    rename(e, insn, r10 + i, reg);
  }
  emit(e, insn, behind);
  for (const unsigned i : {0u, 1u}) {
    const StandIns::One& one = stand.of[i];
    if (one.reg == StandIns::kNone) continue;
    const auto reg = static_cast<Reg>(one.reg);
    if (may_write && one.is_written) hot_.store(taken(r10 + i), reg);
    if (one.comes_back) hot_.load(reg, scratch(r10 + i));
  }
}

void InsnCopier::emit(const Encoding& e, std::uint8_t* insn, std::uint64_t behind) {
  if (e.rip_relative) {
    const std::uint64_t target = operand_beside(e, insn, behind);
    if (!reaches_from_everywhere(hot_.at(), target)) return emit_far(e, insn, target);
    const auto distance =
        static_cast<std::int32_t>(target - (reinterpret_cast<std::uint64_t>(hot_.at()) + e.length));
    std::memcpy(insn + e.disp_at, &distance, 4);
  }
  hot_.copy(insn, e.length);
}

// With the operand's address in a register instead of a displacement.
void InsnCopier::emit_far(const Encoding& e, std::uint8_t* insn, std::uint64_t target) {
  const auto base = static_cast<Reg>(address_register(e));
  hot_.store(kAddressScratch, base);
  hot_.move64(base, target);
  insn[e.modrm_at] = static_cast<std::uint8_t>((insn[e.modrm_at] & 0x38) | base);
  if (e.has_prefix) clear_extension_of_base(e, insn);
  std::memmove(insn + e.disp_at, insn + e.disp_at + 4, e.length - e.disp_at - 4u);
  hot_.copy(insn, e.length - 4u);
  hot_.load(base, kAddressScratch);
}

void InsnCopier::load_target(const Encoding& e, std::uint64_t ip) {
  std::uint8_t insn[16];
  std::memcpy(insn, code(ip), e.length);
  Encoding load = e;
  if (!e.has_prefix) {  // REX goes right before the opcode
    std::memmove(insn + e.opcode_at + 1, insn + e.opcode_at, e.length - e.opcode_at);
    load.prefix_at = e.opcode_at;
    load.has_prefix = true;
    ++load.opcode_at;
    ++load.modrm_at;
    if (load.sib_at != 0) ++load.sib_at;
    if (load.disp_at != 0) ++load.disp_at;
    ++load.length;
    insn[load.prefix_at] = 0x40;
  }
  insn[load.prefix_at] = static_cast<std::uint8_t>((insn[load.prefix_at] | 8) & ~4);
  insn[load.opcode_at] = 0x8b;
  insn[load.modrm_at] &= 0xc7;
  load.rex = insn[load.prefix_at];
  if ((load.rex & 1) == 0 && insn[load.modrm_at] == 0xc0) return;  // RAX has it
  copy_bytes(load, insn, ip + e.length, false);
}

}  // namespace hodo::engine
