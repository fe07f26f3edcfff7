// How often something came, as far as a small table that forgets can tell.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hodo::flow {

class OftenSeen {
 public:
  static constexpr unsigned kMostTimes = 15;

  // Whether what has this hash came so many times before, of these it counts this one.
  bool came(std::uint64_t hash, unsigned times) {
    std::uint16_t& seen = seen_[hash >> (64 - kSizeLog2)];
    const auto part = static_cast<std::uint16_t>(hash << kTimesBits);
    const unsigned before = (seen & ~kMostTimes) == part ? seen & kMostTimes : 0;
    if (before >= times) return true;
    seen = static_cast<std::uint16_t>(part | (before + 1));
    return false;
  }

 private:
  static constexpr unsigned kSizeLog2 = 15;
  static constexpr unsigned kTimesBits = std::bit_width(kMostTimes);

  std::vector<std::uint16_t> seen_ = std::vector<std::uint16_t>(std::size_t{1} << kSizeLog2);
};

}  // namespace hodo::flow
