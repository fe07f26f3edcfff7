// How long threads' buffers may lie before somebody looks at them again: so that none is more than
// about a quarter full by then, however fast it fills.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace hodo::capture {

class DrainPace {
 public:
  using Wait = std::chrono::microseconds;
  static constexpr Wait kMost{4000};  // where little comes
  // Less than a few wake-ups take is no waiting.
  static constexpr Wait kLeast{50};

  // A round begins.
  void begin() { fullest_ = 0; }
  // A buffer of `size` bytes was found to hold `waiting`.
  void found(std::uint64_t waiting, std::uint64_t size) {
    fullest_ = std::max(fullest_, std::min(waiting, size) / (size / kWhole + 1));
  }
  // The round is over. A buffer may have been full for a while: a program that had to wait is not
  // waited for as long again.
  void end() {
    constexpr std::uint64_t kWanted = kWhole / 4;
    const auto wait = static_cast<std::uint64_t>(wait_.count());
    const std::uint64_t next =
        2 * fullest_ < kWanted ? 2 * wait : wait * kWanted / std::max<std::uint64_t>(fullest_, 1);
    wait_ = std::clamp(Wait(next), kLeast, kMost);
  }
  Wait wait() const { return wait_; }

 private:
  static constexpr std::uint64_t kWhole = 1 << 10;
  std::uint64_t fullest_ = 0;  // of the round, in parts of kWhole
  Wait wait_ = kMost;
};

}  // namespace hodo::capture
