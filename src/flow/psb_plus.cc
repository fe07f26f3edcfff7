#include "psb_plus.h"

#include <algorithm>

namespace hodo::flow {
namespace {

using pt::PacketType;

// Tracing that starts at a PSB. Erratum BDM70: the processor may then send a PSB+ with a FUP
// although tracing is still off, and only then TIP.PGE. perf ignores such a FUP on all processors,
// too.
bool starts_right_behind(pt::PacketReader reader) {
  return next_deciding_packet(reader) == PacketType::tip_pge;
}

}  // namespace

bool is_timing_or_pad(PacketType type) {
  switch (type) {
    case PacketType::pad:
    case PacketType::tsc:
    case PacketType::tma:
    case PacketType::mtc:
    case PacketType::cyc:
    case PacketType::cbr:
    case PacketType::mnt:
      return true;
    default:
      return false;
  }
}

bool may_be_in_psb_plus(PacketType type) {
  switch (type) {
    case PacketType::fup:
    case PacketType::pip:
    case PacketType::vmcs:
    case PacketType::mode_exec:
    case PacketType::mode_tsx:
      return true;
    default:
      return is_timing_or_pad(type);
  }
}

void PsbPlus::look(pt::PacketReader reader, bool bdm70) {
  ip_.reset();
  count_ = 0;
  whole_ = false;
  pt::LastIp last_ip;
  for (;;) {
    (void)reader.skip_padding();
    Located& next = packets_[std::min(count_, kMost - 1)];
    next.offset = reader.offset();
    if (reader.read(next.packet) != pt::ReadStatus::packet) return;
    const PacketType type = next.packet.type;
    if (type == PacketType::fup && last_ip.update(next.packet)) ip_ = last_ip.ip();
    const bool may_be_here = count_++ == 0 ? type == PacketType::psb : may_be_in_psb_plus(type);
    if (type == PacketType::psbend) break;
    if (!may_be_here) return;
  }
  if (ip_ && bdm70 && starts_right_behind(reader)) ip_.reset();
  whole_ = count_ <= kMost;
}

std::optional<PacketType> next_deciding_packet(pt::PacketReader reader) {
  // Far enough for what processors write; without a limit hostile traces take quadratic time.
  constexpr std::size_t kMostPackets = 64;
  pt::Packet packet;
  for (std::size_t i = reader.skip_padding();
       i < kMostPackets && reader.read(packet) == pt::ReadStatus::packet;
       i += 1 + reader.skip_padding()) {
    switch (packet.type) {
      case PacketType::pip:
      case PacketType::vmcs:
      case PacketType::mode_exec:
      case PacketType::mode_tsx:
        continue;
      default:
        if (!is_timing_or_pad(packet.type)) return packet.type;
    }
  }
  return std::nullopt;
}

}  // namespace hodo::flow
