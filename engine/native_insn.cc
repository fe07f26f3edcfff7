#include "native_insn.h"

#include <cstdint>
#include <cstring>

#include "block_calls.h"
#include "glue.h"
#include "hodo/isa/encoding.h"
#include "memory.h"
#include "program_memory.h"
#include "service.h"
#include "signal_actions.h"
#include "signal_place.h"
#include "sys.h"
#include "tracing.h"
#include "trap_flag.h"

namespace hodo::engine {
namespace {

// Whether an instruction is INT 0x80, and asks for what comes back to behind it. The other calls of
// 32 bits, sigreturn, clone, rt_sigreturn and clone3, go on elsewhere, or twice.
bool calls_and_returns(const ThreadArea& area, std::uint64_t ip) {
  std::uint8_t code[2];
  if (!read_code(code, ip, sizeof code) || code[0] != 0xcd || code[1] != 0x80) return false;
  const auto number = static_cast<std::uint32_t>(area.registers.rax);
  return number != 119 && number != 120 && number != 173 && number != 435;
}

// Goes on natively at `ip`, for one instruction. Where the engine is, nothing would be natively:
// the processor gets what is no address, which it refuses, and native_refused() says the rest.
[[noreturn]] void go_native(ThreadArea& area, std::uint64_t ip) {
  constexpr std::uint64_t kNoAddress = std::uint64_t{1} << 63;
  trace_interruption(area, ip);
  area.native_mask = block_signals();
  area.own_target = is_own(ip, 1) ? ip : 0;
  area.ip = area.own_target != 0 ? kNoAddress : ip;
  area.registers.flags |= eflags::kTf;
  area.native = 1;
  glue_native(&area);
}

}  // namespace

void run_native(ThreadArea& area, std::uint64_t ip) {
  area.in_block = false;  // a fragment ends in front of it
  go_native(area, ip);
}

void run_in_block(ThreadArea& area, std::uint64_t ip) {
  area.in_block = true;
  go_native(area, ip);
}

void run_interrupt(ThreadArea& area, std::uint64_t ip, std::uint64_t behind) {
  area.in_block = false;
  trace_interruption(area, behind);
  go_native(area, ip);
}

bool call_by_interrupt(ThreadArea& area, std::uint64_t ip, std::uint64_t left_at) {
  if (is_stepping(area) || is_own(ip, 1) || !calls_and_returns(area, ip)) return false;
  const std::uint64_t mask = block_signals();
  if (area.waits != 0) {
    set_mask(mask);
    area.in_block = true;  // and to the unit it has been left
    if (by_blocks) trace_interruption(area, ip);
    go_on_at(area, ip);
    return true;
  }
  area.in_block = false;
  trace_interruption(area, left_at);
  area.interrupt = ip;
  area.ip = address(glue_interrupt);
  area.native = 1;
  set_mask(mask);  // what comes from here on finds all that it needs (before_interrupt())
  glue_native(&area);
}

void refuse_branch(ThreadArea& area) {
  const std::uint64_t ip = *reinterpret_cast<const std::uint64_t*>(std::uint64_t{area.branch});
  std::uint8_t code[16];
  const unsigned bytes = readable_bytes_locked(ip);
  if (!read_code(code, ip, bytes)) die("a branch cannot be read", ip);
  const isa::Encoding e = isa::decode_encoding(code, bytes);
  std::uint64_t& rsp = area.registers.rsp;
  if (e.cls == isa::InsnClass::icall) rsp += 8;
  if (e.cls == isa::InsnClass::ret) {
    std::uint16_t more = 0;
    if (e.imm_size == sizeof more) std::memcpy(&more, code + e.imm_at, sizeof more);
    rsp -= 8 + std::uint64_t{more};
  }
  run_in_block(area, ip);
}

}  // namespace hodo::engine
