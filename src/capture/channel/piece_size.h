// When a thread's trace is worth moving to the file, so that the file is made of large pieces.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hodo::capture {

// `waiting`: bytes in a buffer of `buffer` bytes, from which something was last moved `age` ns ago.
inline bool worth_a_piece(std::uint64_t waiting, std::uint64_t buffer, std::uint64_t age) {
  constexpr std::uint64_t kEnough = 64 * 1024;
  constexpr std::uint64_t kMaxDelay = 200'000'000;  // ns
  // A small buffer must not make its thread wait until the delay is over.
  return waiting >= std::min(kEnough, buffer / 8) || age >= kMaxDelay;
}

}  // namespace hodo::capture
