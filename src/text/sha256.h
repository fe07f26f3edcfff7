// SHA-256 (FIPS 180-4).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace hodo::text {

using Digest = std::array<std::uint8_t, 32>;

// Whether the processor has instructions for it (SDM vol. 2, CPUID leaf 7, EBX bit 29).
bool has_sha_instructions();

class Sha256 {
 public:
  explicit Sha256(bool by_instructions = has_sha_instructions())
      : by_instructions_(by_instructions) {}
  void add(std::span<const std::uint8_t> bytes);
  // Call once, at the end.
  Digest finish();

 private:
  static constexpr std::size_t kBlock = 64;
  using State = std::array<std::uint32_t, 8>;
  // Some number of blocks.
  void take(std::span<const std::uint8_t> blocks);
  static void take_block(State& state, const std::uint8_t* block);
  [[gnu::target("sha,sse4.1")]] static void take_by_instructions(
      State& state, std::span<const std::uint8_t> blocks);

  State state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  bool by_instructions_;
  std::array<std::uint8_t, kBlock> rest_{};  // the first size_ % kBlock count
  std::uint64_t size_ = 0;
};

}  // namespace hodo::text
