// The processor's return stack, as far as Intel PT needs it (SDM, "Indirect Transfer Compression
// for Returns"): the youngest 64 return addresses; older ones fall off the end.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace hodo::flow {

class ReturnStack {
 public:
  void clear() { depth_ = 0; }
  void push(std::uint64_t ip) {
    top_ = (top_ + 1) % kSize;
    ips_[top_] = ip;
    if (depth_ < kSize) ++depth_;
  }
  std::optional<std::uint64_t> pop() {
    if (depth_ == 0) return std::nullopt;
    const std::uint64_t ip = ips_[top_];
    top_ = (top_ + kSize - 1) % kSize;
    --depth_;
    return ip;
  }

 private:
  static constexpr unsigned kSize = 64;
  std::array<std::uint64_t, kSize> ips_{};
  unsigned top_ = 0;
  unsigned depth_ = 0;
};

}  // namespace hodo::flow
