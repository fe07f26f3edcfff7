#include "trap_flag.h"

#include "block_calls.h"
#include "insn_map.h"
#include "program_memory.h"
#include "signal_place.h"

namespace hodo::engine {
namespace {

struct Insn {
  std::uint8_t code[16] = {};
  isa::Encoding encoding;
};

Insn insn_at(std::uint64_t ip) {
  Insn insn;
  const unsigned bytes = readable_bytes_locked(ip);
  if (read_code(insn.code, ip, bytes)) insn.encoding = isa::decode_encoding(insn.code, bytes);
  return insn;
}

// Where a direct jump leads that has no code in the cache, perhaps: the next stop would be behind
// the instruction there.
std::optional<std::uint64_t> jump_target(std::uint64_t ip) {
  const Insn insn = insn_at(ip);
  if (by_blocks || insn.encoding.cls != isa::InsnClass::jmp) return std::nullopt;
  return isa::direct_target(insn.encoding, insn.code, ip);
}

}  // namespace

bool loads_flags(std::uint64_t ip) {
  const Insn insn = insn_at(ip);
  return pops_flags(insn.encoding) || insn.encoding.cls == isa::InsnClass::iret;
}

std::uint64_t program_flags(const ThreadArea& area) {
  const TrapFlag::State state = area.trap_flag.state;
  const bool set = state == TrapFlag::set || state == TrapFlag::begun;
  return (area.registers.flags & ~eflags::kTf) | (set ? eflags::kTf : 0);
}

void set_trap_flag(ThreadArea& area, std::uint64_t flags) {
  area.trap_flag = {.state = (flags & eflags::kTf) != 0 ? TrapFlag::set : TrapFlag::clear};
}

void step_anew(ThreadArea& area) {
  if (is_stepping(area)) area.trap_flag = {.state = TrapFlag::set};
}

void clear_behind_insn(ThreadArea& area) {
  if (is_stepping(area)) area.trap_flag.state = TrapFlag::last;
}

void step_if_wanted(ThreadArea& area) {
  if (is_stepping(area)) area.registers.flags |= eflags::kTf;
}

bool begins_at_next(ThreadArea& area) {
  InsnPlace there;
  if (area.trap_flag.state != TrapFlag::set || !find_insn_locked(area.next, there)) return false;
  if (!there.exact || jump_target(there.first_ip)) return false;
  area.trap_flag = {TrapFlag::begun, there.first_ip, area.next};
  return true;
}

std::optional<std::uint64_t> executed_before(ThreadArea& area, std::uint64_t place) {
  const TrapFlag& flag = area.trap_flag;
  InsnPlace there;
  if (flag.state != TrapFlag::begun && flag.state != TrapFlag::last) return std::nullopt;
  if (!find_insn_locked(place, there) || there.first_ip == flag.ip) return std::nullopt;
  return there.first_ip;
}

std::optional<std::uint64_t> executed_one(ThreadArea& area, std::uint64_t place) {
  TrapFlag& flag = area.trap_flag;
  InsnPlace here;
  if (!is_stepping(area) || !find_insn_locked(place, here)) return std::nullopt;
  if (flag.state == TrapFlag::set) {
    if (const auto target = jump_target(here.first_ip)) return target;
    flag = {TrapFlag::begun, here.first_ip, place};
    return std::nullopt;
  }
  // A fragment has two places of its first instruction. One that repeats comes to the same place,
  // and one that leads to itself to the first.
  InsnPlace before;
  const bool on_its_way =
      find_insn_locked(flag.place, before) && before.head == here.head && place > flag.place;
  if (flag.state == TrapFlag::begun && here.first_ip == flag.ip && on_its_way) {
    flag.place = place;
    return std::nullopt;
  }
  return here.first_ip;
}

}  // namespace hodo::engine
