#include "unsealed.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

namespace hodo::relay {
namespace {

using Bytes = std::span<const std::uint8_t>;

// 02 and a second byte (SDM, "Packet Definitions"). 0: none that a unit of ours writes.
std::size_t extended_bytes(std::uint8_t second) {
  switch (second) {
    case 0x23:  // PSBEND
    case 0x83:  // TraceStop
    case 0xf3:  // OVF
      return 2;
    case 0x03:  // CBR
      return 4;
    case 0x73:  // TMA
      return 7;
    case 0x43:  // PIP
    case 0xa3:  // TNT
      return 8;
    case 0x82:  // PSB
      return 16;
    default:
      return 0;
  }
}

std::size_t ip_bytes(std::uint8_t first) {
  constexpr std::array<std::size_t, 8> kByForm = {1, 3, 5, 7, 7, 0, 9, 0};
  return kByForm[first >> 5];
}

// Of the packet at the beginning; 0: there is none.
std::size_t packet_bytes(Bytes bytes) {
  const std::uint8_t first = bytes[0];
  if (first == 0) return 0;
  if (first == 0x02) return bytes.size() < 2 ? 0 : extended_bytes(bytes[1]);
  if (first % 2 == 0) return 1;  // TNT
  switch (first & 0x1f) {
    case 0x0d:  // TIP, TIP.PGE, TIP.PGD, FUP
    case 0x11:
    case 0x01:
    case 0x1d:
      return ip_bytes(first);
    default:
      break;
  }
  if (first == 0x19) return 8;                    // TSC
  return first == 0x59 || first == 0x99 ? 2 : 0;  // MTC, MODE
}

constexpr std::array<std::uint8_t, 16> kPsb = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
                                               0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82};
constexpr std::array<std::uint8_t, 2> kPsbEnd = {0x02, 0x23};

// How many bytes from there on are whole packets, and of a PSB+ all of them.
std::size_t whole_packets(Bytes bytes) {
  std::size_t whole = 0;
  std::optional<std::size_t> psb;  // where a PSB+ begins that has not ended
  while (whole < bytes.size()) {
    const Bytes rest = bytes.subspan(whole);
    const std::size_t size = packet_bytes(rest);
    if (size == 0 || size > rest.size()) break;
    const Bytes packet = rest.first(size);
    if (size == kPsb.size()) {
      if (!std::ranges::equal(packet, kPsb)) break;
      psb = whole;
    }
    if (std::ranges::equal(packet, kPsbEnd)) psb.reset();
    whole += size;
  }
  return psb.value_or(whole);
}

}  // namespace

std::size_t without_cut_psb(std::span<const std::uint8_t> packets) {
  const auto last = std::ranges::find_end(packets, kPsb);
  if (last.empty() || whole_packets({last.begin(), packets.end()}) != 0) return packets.size();
  return static_cast<std::size_t>(last.begin() - packets.begin());
}

std::vector<std::uint8_t> packets_behind(const Unsealed& memory, std::uint64_t written) {
  std::uint64_t place = 0;
  std::memcpy(&place, &memory.place, sizeof(place));
  const std::uint64_t behind = written - (place >> 16);
  const std::uint64_t at = (place & 0xffff) + behind;
  if (place == kNoUnsealed || behind > memory.packets.size() || at > memory.packets.size()) {
    return {};
  }
  // A copy: what is judged is what is used.
  std::vector<std::uint8_t> bytes(memory.packets.begin() + static_cast<std::ptrdiff_t>(at),
                                  memory.packets.end());
  bytes.resize(whole_packets(bytes));
  return bytes;
}

}  // namespace hodo::relay
