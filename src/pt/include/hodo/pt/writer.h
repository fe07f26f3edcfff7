// Writes Intel PT packets to bytes: the inverse of PacketReader, for tests, tools and the trace
// unit's cold paths.
#pragma once

#include <cstdint>
#include <span>

#include "hodo/pt/packet.h"

namespace hodo::pt {

inline constexpr std::size_t kMaxPacketSize = 16;  // PSB

// Encodes `packet` at the start of `out`; `packet.size` is ignored except that a TNT with size 8
// asks for the long form. Returns the number of bytes written, or 0, with `out` untouched, if the
// packet's values fit no encoding (members that its type does not use must be zero) or `out` is too
// small. What is written reads back as the same packet; a bip only does so behind its bbp.
std::size_t write(const Packet& packet, std::span<std::uint8_t> out);

}  // namespace hodo::pt
