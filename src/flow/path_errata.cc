// Packets that a processor should have written otherwise (hodo/pt/errata.h), where it takes the
// path to see that.
#include <algorithm>

#include "loss_sentences.h"
#include "path_decoder.h"

namespace hodo::flow {

using pt::PacketType;
using pt::ReadStatus;

// A packet that only comes while tracing is on. Behind an OVF that can be erratum SKD010: the FUP
// that says where the path goes on has been dropped.
PathDecoder::Failure PathDecoder::traced_while_off(const char* packet) const {
  if (!after_overflow_ || !config_.errata.skd010) return impossible(sentences::not_enabled(packet));
  return {LossCause::overflow, sentences::dropped_fup()};
}

// Erratum BDM64: behind a branch in a transaction, the place of an abort that comes before any
// other, if the branch's own target does not lead there. That target is wrong.
std::optional<std::uint64_t> PathDecoder::aborted_target() {
  if (!config_.errata.bdm64 || !walker_.in_tx) return std::nullopt;
  pt::PacketReader reader = reader_;
  pt::Packet packet;
  do {
    if (reader.read(packet) != ReadStatus::packet) return std::nullopt;
  } while (is_timing_or_pad(packet.type));
  if (packet.type != PacketType::mode_tsx || (packet.payload & kTsxAbort) == 0) return std::nullopt;
  do {
    if (reader.read(packet) != ReadStatus::packet) return std::nullopt;
  } while (is_timing_or_pad(packet.type));
  pt::LastIp last_ip = last_ip_;
  if (packet.type != PacketType::fup || !last_ip.update(packet)) return std::nullopt;
  if (walker_.in_line(last_ip_.ip(), last_ip.ip())) return std::nullopt;
  return last_ip.ip();
}

// Erratum BDM64, where the branch before the abort at `ip` was in a TNT: what it really did cannot
// be known.
bool PathDecoder::misled_abort(std::uint64_t ip) {
  const bool aborts = std::ranges::any_of(bound_, [](const Bound& bound) {
    return bound.event.kind == EventKind::tsx && !bound.takes_fup;
  });
  if (!config_.errata.bdm64 || !aborts) return false;
  gap_from_ = walker_.ip;
  in_gap_ = true;
  report(LossCause::impossible_outcome, 0, ip, sentences::misled_abort());
  walker_.returns().clear();
  lost_calls_ = true;
  walker_.ip = ip;
  close_gap(ip, 0);
  return true;
}

// Erratum APL12: whether what follows a FUP behind OVF shows that tracing is off.
bool PathDecoder::stays_off() const {
  pt::PacketReader reader = reader_;
  pt::Packet packet;
  // Far enough for what processors write; without a limit hostile traces take quadratic time.
  constexpr std::size_t kMostPackets = 64;
  for (std::size_t i = 0; i < kMostPackets; ++i) {
    const pt::PacketReader here = reader;
    if (reader.read(packet) != ReadStatus::packet) return false;
    switch (packet.type) {
      case PacketType::tip_pge:
      case PacketType::trace_stop:
        return true;
      case PacketType::tnt:
      case PacketType::tip:
      case PacketType::tip_pgd:
      case PacketType::ovf:
        return false;
      case PacketType::psb: {
        PsbPlus group;
        group.look(here, config_.errata.bdm70);
        return !group.packets().empty() && !group.ip();
      }
      default:
        break;
    }
  }
  return false;
}

}  // namespace hodo::flow
