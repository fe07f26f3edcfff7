// Packets that most of a trace consists of, read without a reader.
#pragma once

#include <array>
#include <cstdint>

namespace hodo::flow {

inline constexpr int kIpForms = 8;
inline constexpr std::array<std::uint8_t, kIpForms> kIpSize = {0, 2, 4, 6, 6, 0, 8, 0};

// The IP of a packet whose header is `byte` and whose payload begins `low`; the form is one that
// has an IP.
inline std::uint64_t ip_of(std::uint8_t byte, std::uint64_t low, std::uint64_t last_ip) {
  constexpr unsigned kSext48 = 3;
  const unsigned form = byte >> 5;
  const unsigned unused = 64 - 8u * kIpSize[form];
  if (form == kSext48) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(low << unused) >> unused);
  }
  const std::uint64_t mask = ~std::uint64_t{0} >> unused;
  return (last_ip & ~mask) | (low & mask);
}

// Of the packet at `at`, if it is TNT or one with an IP; 0: it is none, or it is cut off.
inline std::size_t short_packet_size(const std::uint8_t* at, const std::uint8_t* end) {
  constexpr std::size_t kLongTnt = 8;
  const auto left = static_cast<std::size_t>(end - at);
  std::size_t size = 1;
  if (*at == 2) {
    size = left >= kLongTnt && at[1] == 0xa3 ? kLongTnt : 0;
  } else if ((*at & 1) != 0) {
    size += kIpSize[*at >> 5];
  }
  return size <= left ? size : 0;
}

}  // namespace hodo::flow
