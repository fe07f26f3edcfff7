#include "outcome_code.h"

#include "area_code.h"
#include "block_calls.h"
#include "flags.h"
#include "low_memory.h"

namespace hodo::engine {
namespace {

void shift_by(Emitter& out, unsigned bits, unsigned add) {
  if (bits > 1) {  // LEA R11, [R11 * 4 or 8 + add]
    out.bytes({0x4e, 0x8d, 0x1c, 0x1d | bits << 6});
    return out.word(add);
  }
  out.bytes({0x4f, 0x8d, 0x1c | add << 6, 0x1b});  // LEA R11, [R11 + R11 + add]
  if (add > 0) out.byte(add);
}

}  // namespace

void shift_in(Emitter& out, unsigned zeros, bool one) {
  unsigned left = zeros + (one ? 1 : 0);
  for (; left > 3; left -= 3) shift_by(out, 3, 0);
  if (left > 0) shift_by(out, left, one ? 1 : 0);
}

void append_outcomes(Emitter& out, unsigned zeros, bool one, std::uint64_t target) {
  if (by_blocks) return;
  if (zeros < 4 || !flags_dead(target)) return shift_in(out, zeros, one);
  out.bytes({0x49, 0xc1, 0xe3, zeros});  // SHL R11, zeros
  if (one) shift_in(out, 0, true);
}

Flush* make_flush(std::uint64_t ip) {
  Flush* flush = new (allocate_low(sizeof(Flush))) Flush;
  flush->ip = ip;
  return flush;
}

void request(Emitter& out, const Arena& arena, const void* what, Glue glue) {
  out.store(spill(0), rax);
  out.move(rax, low(what));
  out.jump(arena.glue(glue));
}

void RoomCode::look(std::uint64_t ip) {
  if (!flags_dead(ip)) return look_keeping_flags(make_flush(ip));
  hot_.bytes({0x49, 0xf7, 0xc3, 0, 0, 0, 0x80});  // TEST R11, -1 << 31
  full_ = hot_.jump_if(0x5, nullptr);
  behind_look_ = hot_.at();
}

// If there are 32 or more: by JRCXZ, which reads no flags.
void RoomCode::look_keeping_flags(Flush* flush) {
  hot_.store(spill(1), rcx);
  hot_.bytes({0x4c, 0x89, 0xd9});  // MOV RCX, R11
  hot_.bytes({0x48, 0x0f, 0xc9});  // BSWAP RCX
  hot_.bytes({0x89, 0xc9});        // MOV ECX, ECX: bits 32 to 63 of R11
  hot_.bytes({0xe3, 0});           // JRCXZ
  std::uint8_t* const around = hot_.at();
  hot_.load(rcx, spill(1));
  request(hot_, arena_, flush, kGlueFlush);
  around[-1] = static_cast<std::uint8_t>(hot_.at() - around);
  flush->resume = reinterpret_cast<std::uint64_t>(hot_.at());
  hot_.load(rcx, spill(1));
}

void RoomCode::finish() {
  if (full_ == nullptr) return;
  Emitter::point(full_, cold_.at());
  cold_.store(spill(0), rax);
  cold_.bytes({0x48, 0x8d, 0x05});  // LEA RAX, [RIP + distance]
  cold_.word(static_cast<std::uint32_t>(behind_look_ - (cold_.at() + 4)));
  cold_.jump(arena_.glue(kGlueFull));
  full_ = nullptr;
}

}  // namespace hodo::engine
