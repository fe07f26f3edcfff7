#include "signal_place.h"

#include <cstdint>

#include "arena.h"
#include "code_pages.h"
#include "glue.h"
#include "hodo/isa/encoding.h"
#include "insn_map.h"
#include "lock.h"
#include "program_memory.h"
#include "signal_frame.h"
#include "stand_ins.h"
#include "tracing.h"

namespace hodo::engine {

extern "C" const char __executable_start[], _end[];

namespace {

std::uint64_t& by_number(Registers& r, unsigned reg) {
  std::uint64_t* const all[16] = {&r.rax, &r.rcx, &r.rdx,  &r.rbx,  &r.rsp, &r.rbp, &r.rsi, &r.rdi,
                                  &r.r8,  &r.r9,  nullptr, nullptr, &r.r12, &r.r13, &r.r14, &r.r15};
  return *all[reg];
}

bool is_out_of_reach(std::uint64_t at, std::uint64_t operand) {
  const Locked locked;
  return !reaches_from_everywhere(reinterpret_cast<const std::uint8_t*>(at), operand);
}

}  // namespace

Place place_of(std::uint64_t ip) {
  if (ip >= address(glue_begin) && ip < address(glue_end)) return Place::sequence;
  if (ip >= reinterpret_cast<std::uint64_t>(__executable_start) &&
      ip < reinterpret_cast<std::uint64_t>(_end)) {
    return Place::engine;
  }
  return in_cache(ip) ? Place::cache : Place::program;
}

bool find_insn_locked(std::uint64_t at, InsnPlace& place) {
  const Locked locked;
  return find_insn(at, place);
}

std::uint64_t last_fragment_locked(std::uint64_t at) {
  const Locked locked;
  return last_fragment(at);
}

unsigned readable_bytes_locked(std::uint64_t ip) {
  const Locked locked;
  return readable_bytes(ip);
}

bool save_exact(ThreadArea& area, const KernelContext& context) {
  InsnPlace place;
  if (!find_insn_locked(context.rip, place) || !place.exact) return false;
  save_registers(area, context);
  area.ip = place.ip;
  area.in_block = !place.first;
  area.outcomes = context.r11 << place.zeros;
  return true;
}

bool save_resuming(ThreadArea& area, const KernelContext& context) {
  if (context.rip < address(glue_resume) || context.rip >= address(glue_end)) return false;
  InsnPlace place;
  if (!find_insn_locked(area.next, place) || !place.exact) return false;
  area.registers.flags &= ~eflags::kTf;
  area.ip = place.ip;
  area.in_block = !place.first;
  area.outcomes <<= place.zeros;
  return true;
}

bool save_faulted(ThreadArea& area, const KernelContext& context) {
  InsnPlace place;
  if (!find_insn_locked(context.rip, place)) return false;
  save_registers(area, context);
  area.ip = place.ip;
  area.in_block = true;
  area.outcomes = context.r11 << place.zeros;
  std::uint8_t code[16];
  const unsigned bytes = readable_bytes_locked(place.ip);
  if (!read_code(code, place.ip, bytes)) return true;
  const isa::Encoding e = isa::decode_encoding(code, bytes);
  const bool spilled = e.cls == isa::InsnClass::ret || e.cls == isa::InsnClass::icall ||
                       e.cls == isa::InsnClass::ijmp;
  if (spilled) {
    area.outcomes = context.r11;
    area.registers.rax = area.spill[0];
    area.registers.rcx = area.spill[1];
  }
  const StandIns stand = stand_ins(e);
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned reg = stand.of[i].reg;
    if (reg != StandIns::kNone) by_number(area.registers, reg) = area.scratch[i];
  }
  if (e.rip_relative &&
      is_out_of_reach(context.rip, operand_beside(e, code, place.ip + e.length))) {
    by_number(area.registers, address_register(e)) = area.address_scratch;
  }
  return true;
}

void save_at_nothing(ThreadArea& area, const KernelContext& context) {
  save_registers(area, context);
  area.ip = context.rax;
  area.outcomes = context.r11;
  trace_branch(area, area.ip);
  area.registers.rax = area.spill[0];
  area.registers.rcx = area.spill[1];
}

}  // namespace hodo::engine
