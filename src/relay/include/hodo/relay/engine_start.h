// What the recorder writes into the engine's image before it starts it: in hodo_start_info.
#pragma once

#include <array>
#include <cstdint>

#include "hodo/relay/protocol.h"

namespace hodo::relay {

// Nanoseconds of CLOCK_MONOTONIC from the processor's time-stamp counter.
struct TscClock {
  static constexpr unsigned kShift = 32;
  std::uint64_t ns_per_tick = 0;  // << kShift; 0: the counter is not steady, the kernel is asked
};

struct StartInfo {
  std::uint64_t entry = 0;     // of the program, or of its interpreter
  std::uint64_t rtit_ctl = 0;  // IA32_RTIT_CTL, where there is no recorder
  TscClock clock;
  Key key = {};
  // The recorder's abstract socket, without the 0 in front; empty: there is no recorder.
  std::array<char, 64> socket = {};
  char output[256] = {};  // without a recorder: a file for the packets, or empty
};

}  // namespace hodo::relay
