// Looks ahead into a PSB+ group: the status packets from PSB to PSBEND.
#pragma once

#include <cstdint>
#include <optional>

#include "hodo/pt/reader.h"

namespace hodo::flow {

// What the group says about tracing at its place. Both decoders that meet there need it: the one
// that comes from before walks to its IP, the one that begins there starts at it.
struct PsbPlus {
  std::optional<std::uint64_t> ip;  // tracing is on, and this instruction is next
};

// `reader` stands at the PSB; it is a copy that may be moved. `bdm70`: see Config.
PsbPlus look_into_psb_plus(pt::PacketReader reader, bool bdm70);

// The type of the next packet that is neither padding, timing nor status; nullopt if there is none
// near by.
std::optional<pt::PacketType> next_deciding_packet(pt::PacketReader reader);

// Packets that may stand between any two others.
bool is_timing_or_pad(pt::PacketType type);
// Packets that a PSB+ group consists of, besides PSB and PSBEND (SDM, "Packet Stream Boundary").
bool may_be_in_psb_plus(pt::PacketType type);

}  // namespace hodo::flow
