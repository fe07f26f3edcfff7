// Packets that most of a trace consists of, read without a reader.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hodo::flow {

inline std::uint64_t load_word(const std::uint8_t* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Whether the first bytes at both are the same; whole words can be read there.
inline bool same_bytes(const std::uint8_t* a, const std::uint8_t* b, std::size_t bytes) {
  std::uint64_t differ = 0;
  std::size_t i = 0;
  for (; i + 8 <= bytes; i += 8) differ |= load_word(a + i) ^ load_word(b + i);
  if (i < bytes) {
    const unsigned unused = 8 * static_cast<unsigned>(8 - (bytes - i));
    differ |= (load_word(a + i) ^ load_word(b + i)) << unused;
  }
  return differ == 0;
}

inline constexpr int kIpForms = 8;
inline constexpr std::array<std::uint8_t, kIpForms> kIpSize = {0, 2, 4, 6, 6, 0, 8, 0};

// The IP of a packet whose header is `byte` and whose payload begins `low`; the form is one that
// has an IP.
inline std::uint64_t ip_of(std::uint8_t byte, std::uint64_t low, std::uint64_t last_ip) {
  // What the packet says of the IP, sign-extended; by tables, since forms come in no order that a
  // processor could predict.
  constexpr std::array<std::uint8_t, kIpForms> kUnused = {63, 48, 32, 16, 16, 63, 0, 63};
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  constexpr std::array<std::uint64_t, kIpForms> kSaid = {
      0, 0xffff, 0xffff'ffff, kAll, 0xffff'ffff'ffff, 0, kAll, 0};
  const unsigned form = byte >> 5;
  const auto extended = static_cast<std::int64_t>(low << kUnused[form]) >> kUnused[form];
  return (last_ip & ~kSaid[form]) | (static_cast<std::uint64_t>(extended) & kSaid[form]);
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

enum class CommonPacket : std::uint8_t { pad, tnt, tip, begin, end, other };

inline CommonPacket common_packet(std::uint8_t byte) {
  if (byte == 0) return CommonPacket::pad;
  if ((byte & 1) == 0) return CommonPacket::tnt;  // or other: TntBytes has no size then
  switch (byte & 0x1f) {
    case 0x0d:
      return CommonPacket::tip;
    case 0x01:
      return CommonPacket::end;
    case 0x11:
      return CommonPacket::begin;
    default:
      return CommonPacket::other;
  }
}

// A TNT of either size. What is none, has no outcomes or is cut off has size 0.
struct TntBytes {
  [[gnu::always_inline]] TntBytes(const std::uint8_t* at, const std::uint8_t* end)
      : size(short_packet_size(at, end)) {
    if (size != 0) outcomes = size == 1 ? *at >> 1 : load_word(at) >> 16;
    if (outcomes <= 1) size = 0;
  }
  std::size_t size;
  std::uint64_t outcomes = 1;  // under their stop bit
};

// A packet with an IP. Without one, or so near the end that eight bytes cannot be read, it has size
// 0.
struct IpBytes {
  [[gnu::always_inline]] IpBytes(const std::uint8_t* at, const std::uint8_t* end,
                                 std::uint64_t last_ip)
      : size(kIpSize[*at >> 5]) {
    if (size == 0 || end - at < 9) {
      size = 0;
      return;
    }
    ip = ip_of(*at, load_word(at + 1), last_ip);
    ++size;
  }
  std::size_t size;
  std::uint64_t ip = 0;
};

}  // namespace hodo::flow
