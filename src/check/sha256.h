// SHA-256 (FIPS 180-4).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace hodo::check {

using Digest = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  void add(std::span<const std::uint8_t> bytes);
  // Call once, at the end.
  Digest finish();

 private:
  static constexpr std::size_t kBlock = 64;
  void take_block(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, kBlock> rest_{};  // the first size_ % kBlock count
  std::uint64_t size_ = 0;
};

}  // namespace hodo::check
