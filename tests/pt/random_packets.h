// Random valid packets, for property tests.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "hodo/pt/packet.h"

namespace hodo::pt {

using Random = std::mt19937_64;

// A packet of this type with random values of every magnitude, `size` not filled in. For tnt, a
// size of 8 asks for the long form, as in write().
Packet random_packet(PacketType type, Random& random);

// A packet of any type but bip, which is only valid in a block.
Packet random_packet_outside_block(Random& random);

// Appends the packet and fills in its size; fails the running test if it cannot be written.
void append(Packet& packet, std::vector<std::uint8_t>& bytes);

// The packet's bytes alone; what a reader needs before it (a bip's bbp) is not among them.
std::vector<std::uint8_t> encode(Packet& packet);

// Turns one bit of `bytes` over, which are not empty.
void flip_bit(std::vector<std::uint8_t>& bytes, Random& random);

// A bbp whose items are as large as this bip.
Packet block_for(const Packet& bip);

}  // namespace hodo::pt
