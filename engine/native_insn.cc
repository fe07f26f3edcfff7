#include "native_insn.h"

#include <cstdint>
#include <cstring>

#include "glue.h"
#include "hodo/isa/encoding.h"
#include "memory.h"
#include "program_memory.h"
#include "signal_actions.h"
#include "signal_place.h"
#include "sys.h"
#include "tracing.h"

namespace hodo::engine {
namespace {

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
