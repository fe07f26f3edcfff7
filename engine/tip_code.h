// What a landing does that a TIP leads to: the packets of that, written inline.
#pragma once

#include <cstdint>

#include "arena.h"
#include "emitter.h"
#include "translate.h"

namespace hodo::engine {

class TipCode {
 public:
  TipCode(Emitter& hot, Emitter& cold, const Arena& arena)
      : hot_(hot), cold_(cold), arena_(arena) {}

  // Everything that a TIP to `ip` needs: the pending outcomes, the packet with this address,
  // compressed against the last one. RAX and RCX are free, and in the spill slots. SDM, "Target IP
  // (TIP) Packet", "IP Compression". `full` is where the packets may have no room left.
  void write(std::uint64_t ip, bool keep_flags, Flush* full);

 private:
  std::uint8_t* write_outcomes();
  void compare_high(std::uint64_t ip);
  void none_left();
  void write_more_outcomes(const std::uint8_t* done);
  std::uint8_t* jump_if_outcomes(unsigned packets);
  void first_of_short(unsigned shift);
  void other_short(unsigned shift, unsigned at);
  void wide_tip(std::uint64_t ip, const std::uint8_t* done);

  Emitter& hot_;
  Emitter& cold_;
  const Arena& arena_;
};

}  // namespace hodo::engine
