#include "tip_code.h"

#include "area_code.h"

namespace hodo::engine {

void TipCode::write(std::uint64_t ip, bool keep_flags, Flush* full) {
  if (keep_flags) {
    hot_.bytes({0x9f, 0x0f, 0x90, 0xc0});  // LAHF; SETO AL
    hot_.store(kFlags, rax);
  }
  hot_.load(rcx, kCursor);
  std::uint8_t* more = write_outcomes();
  const std::uint8_t* outcomes_written = hot_.at();
  compare_high(ip);
  std::uint8_t* wide = hot_.jump_if(0x5, nullptr);
  hot_.bytes({0xc7, 0x41, 0xfd});  // MOV dword [RCX - 3], TIP with 2 bytes
  hot_.word(0x2d | static_cast<std::uint32_t>(ip & 0xffff) << 8);
  const std::uint8_t* done = hot_.at();
  hot_.store(kCursor, rcx);
  hot_.bytes({0x41, 0xb3, 1});   // MOV R11B, no outcomes
  hot_.area(0x3b, rcx, kLimit);  // CMP RCX, limit
  std::uint8_t* at_limit = hot_.jump_if(0x3, nullptr);
  full->resume = reinterpret_cast<std::uint64_t>(hot_.at());
  if (keep_flags) {
    hot_.load(rax, kFlags);
    hot_.bytes({0x04, 0x7f, 0x9e});  // ADD AL, 127; SAHF
  }
  restore_spilled(hot_);

  Emitter::point(at_limit, cold_.at());
  cold_.move(rax, low(full));
  cold_.jump(arena_.glue(kGlueFlush));
  Emitter::point(wide, cold_.at());
  wide_tip(ip, done);
  Emitter::point(more, cold_.at());
  write_more_outcomes(outcomes_written);
}

// [RCX]: up to six outcomes as a short TNT packet, nothing if there are none, and RCX 3 bytes
// behind that, where the TIP ends. The branch to where more are written. All that this and the
// others store is a whole packet or none that anybody could take for one: of a thread that is
// killed between two of them the recorder reads what there is.
std::uint8_t* TipCode::write_outcomes() {
  hot_.bytes({0x49, 0x83, 0xfb, 0x7f});  // CMP R11, 127
  std::uint8_t* more = hot_.jump_if(0x7, nullptr);
  hot_.bytes({0x43, 0x8d, 0x04, 0x1b});  // LEA EAX, [R11 + R11]
  hot_.bytes({0x89, 0x01});              // MOV [RCX], EAX
  hot_.bytes({0x49, 0x83, 0xfb, 2});     // CMP R11, 2
  hot_.bytes({0x48, 0x83, 0xd9, 0xfc});  // SBB RCX, -4
  return more;
}

// CMP dword [last high], that of `ip`
void TipCode::compare_high(std::uint64_t ip) {
  const auto high = static_cast<std::uint32_t>(ip >> 16);
  const bool is_short = high < 0x80;
  hot_.bytes({0x41, is_short ? 0x83u : 0x81u});
  hot_.operand(7, kLastHigh);
  if (is_short) {
    hot_.byte(high);
  } else {
    hot_.word(high);
  }
}

// As two or three short packets where they fit, else a long one.
void TipCode::write_more_outcomes(const std::uint8_t* done) {
  std::uint8_t* more_than_two = jump_if_outcomes(2);
  first_of_short(6);
  other_short(0, 1);
  cold_.bytes({0x48, 0x83, 0xc1, 5});  // ADD RCX, 2 + 3
  none_left();
  cold_.jump(done);
  Emitter::point(more_than_two, cold_.at());
  std::uint8_t* more_than_three = jump_if_outcomes(3);
  first_of_short(12);
  other_short(6, 1);
  other_short(0, 2);
  cold_.bytes({0x48, 0x83, 0xc1, 6});  // ADD RCX, 3 + 3
  none_left();
  cold_.jump(done);
  Emitter::point(more_than_three, cold_.at());
  cold_.bytes({0x4c, 0x89, 0xd8});              // MOV RAX, R11
  cold_.bytes({0x48, 0xc1, 0xe0, 0x10});        // SHL RAX, 16
  cold_.bytes({0x48, 0x0d, 0x02, 0xa3, 0, 0});  // OR RAX, long TNT
  cold_.bytes({0x48, 0x89, 0x01});              // MOV [RCX], RAX
  cold_.bytes({0x48, 0x83, 0xc1, 11});          // ADD RCX, 8 + 3
  none_left();
  cold_.jump(done);
}

// To where there are more than fit into so many short packets.
std::uint8_t* TipCode::jump_if_outcomes(unsigned packets) {
  cold_.bytes({0x49, 0x81, 0xfb});  // CMP R11, stop bit behind them
  cold_.word(2u << (6 * packets));
  return cold_.jump_if(0x3, nullptr);
}
// Of six outcomes all lie in R11B, which is what the hot code then sets.
void TipCode::none_left() { cold_.bytes({0x45, 0x31, 0xdb}); }  // XOR R11D, R11D

// Those above the lowest `shift`, under the stop bit that they have.
void TipCode::first_of_short(unsigned shift) {
  cold_.bytes({0x44, 0x89, 0xd8});   // MOV EAX, R11D
  cold_.bytes({0xc1, 0xe8, shift});  // SHR EAX, shift
  cold_.bytes({0x01, 0xc0});         // ADD EAX, EAX
  cold_.bytes({0x88, 0x01});         // MOV [RCX], AL
}
// Six from there, under a stop bit of their own, to [RCX + at].
void TipCode::other_short(unsigned shift, unsigned at) {
  cold_.bytes({0x44, 0x89, 0xd8});  // MOV EAX, R11D
  if (shift != 0) cold_.bytes({0xc1, 0xe8, shift});
  cold_.bytes({0x83, 0xe0, 0x3f});                 // AND EAX, 63
  cold_.bytes({0x8d, 0x84, 0x00, 0x80, 0, 0, 0});  // LEA EAX, [RAX + RAX + 128]
  cold_.bytes({0x88, 0x41, at});                   // MOV [RCX + at], AL
}

// Where the last IP differs above its lowest 16 bits.
void TipCode::wide_tip(std::uint64_t ip, const std::uint8_t* done) {
  cold_.bytes({0x41, 0x0f, 0xb7});  // MOVZX EAX, word [last high + 2]
  cold_.operand(rax, kLastHigh + 2);
  cold_.bytes({0x49, 0xc7});  // MOV qword [last high], that of `ip`
  cold_.operand(0, kLastHigh);
  cold_.word(static_cast<std::uint32_t>(ip >> 16));
  cold_.byte(0x3d);  // CMP EAX, bits 32 to 47 of `ip`
  cold_.word(static_cast<std::uint32_t>(ip >> 32 & 0xffff));
  std::uint8_t* wider = cold_.jump_if(0x5, nullptr);
  cold_.move64(rax, (ip & 0xffff'ffff) << 8 | 0x4d);  // TIP with 4 bytes
  cold_.bytes({0x48, 0x89, 0x41, 0xfd});              // MOV [RCX - 3], RAX
  cold_.bytes({0x48, 0x83, 0xc1, 2});                 // ADD RCX, 2
  cold_.jump(done);
  Emitter::point(wider, cold_.at());
  cold_.move64(rax, ip << 8 | 0x6d);      // TIP with 6 bytes
  cold_.bytes({0x48, 0x89, 0x41, 0xfd});  // MOV [RCX - 3], RAX
  cold_.bytes({0x48, 0x83, 0xc1, 4});     // ADD RCX, 4
  cold_.jump(done);
}

}  // namespace hodo::engine
