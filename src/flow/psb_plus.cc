#include "psb_plus.h"

#include <utility>

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

PsbPlus look_into_psb_plus(pt::PacketReader reader, bool bdm70) {
  PsbPlus out;
  pt::LastIp last_ip;
  pt::Packet packet;
  bool seen_psb = false;
  while ((void)reader.skip_padding(), reader.read(packet) == pt::ReadStatus::packet) {
    if (packet.type == PacketType::fup && last_ip.update(packet)) out.ip = last_ip.ip();
    if (packet.type == PacketType::psbend) {
      if (out.ip && bdm70 && starts_right_behind(reader)) out.ip.reset();
      break;
    }
    const bool first = packet.type == PacketType::psb && !std::exchange(seen_psb, true);
    if (!first && !may_be_in_psb_plus(packet.type)) break;
  }
  return out;
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
