// What the recorder writes into the engine's image before it starts it.
#pragma once

#include <cstdint>

namespace hodo::engine {

struct StartInfo {
  std::uint64_t entry = 0;     // of the program, or of its interpreter
  std::uint64_t rtit_ctl = 0;  // IA32_RTIT_CTL
  char output[256] = {};       // a file for the packets; empty: they are thrown away
};

}  // namespace hodo::engine
