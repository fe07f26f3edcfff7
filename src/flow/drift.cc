// Finding the path again behind code that is not known.
//
// The packets are whole; it is the code between them that is missing. So IPs and time go on being
// followed, and the next packet says where the path is that has an address of which nothing is left
// to be said by packets before it:
//
//   FUP, TIP.PGE  always: whatever the processor holds back is written before them.
//   TIP           if no TNT lies open before it. Otherwise its branch may be older than some of the
//                 outcomes in the TNT (SDM, "Deferred TIPs"), and how many of them belong behind
//                 it nobody knows. A TNT with room left, followed by TIPs and the next TNT, shows
//                 that the last of them was not deferred: it is what forced that TNT out.
//
// Behind an OVF whose FUP was dropped (erratum SKD010) the last IP is not known either: only a
// packet with a whole one tells.
//
// What the calls and returns in between did to the processor's return stack is not known either, so
// that it is empty at first, and a compressed return that is not on it loses the path again.
#include <algorithm>

#include "loss_sentences.h"
#include "path_decoder.h"

namespace hodo::flow {

using pt::PacketType;

namespace {

// Losses in which the packets are not to blame. Behind a contradiction between packets and code
// either may be wrong, and what seems to be an address need not be one.
bool leaves_packets_whole(LossCause cause) {
  return cause == LossCause::no_code || cause == LossCause::bad_code ||
         cause == LossCause::lost_call || cause == LossCause::overflow;
}

bool has_whole_ip(const pt::Packet& packet) {
  return packet.ip_bytes == pt::IpBytes::sext48 || packet.ip_bytes == pt::IpBytes::full;
}

bool has_room(const pt::Packet& tnt) {
  constexpr unsigned kMostShort = 6;
  constexpr unsigned kMostLong = 47;
  return tnt.count < (tnt.size == 1 ? kMostShort : kMostLong);
}

}  // namespace

// False: the path is given up to the next PSB.
bool PathDecoder::drift(const Failure& failure) {
  if (!leaves_packets_whole(failure.cause)) return false;
  if (outcomes_ == kNoOutcomes && reader_.offset() != packet_at_) {
    // The packet itself may say where the path goes on.
    pt::Packet packet;
    reader_.seek(packet_at_);
    (void)reader_.read(packet);
    unread(packet);
  }
  if (!in_gap_) gap_from_ = walker_.ip;
  in_gap_ = true;
  whole_ip_ = failure.cause == LossCause::overflow;
  after_overflow_ = false;
  walker_.enabled = true;
  landing_ = look_for_landing();
  report(failure.cause, landing_ - packet_at_, failure.ip, failure.reason);
  outcomes_ = kNoOutcomes;
  walker_.returns().clear();
  lost_calls_ = true;
  adrift_ = true;
  return true;
}

bool PathDecoder::can_land(std::uint64_t ip, isa::Mode mode, std::uint64_t time) {
  return !walker_.outside_filter(ip) && blocks_.at(ip, mode, time) != nullptr;
}

// The place of the next packet, from the one on that could not be followed, that says where the
// path is; or of what ends the search: a packet behind which tracing is off or begins anew, damage,
// the end.
std::size_t PathDecoder::look_for_landing() {
  const bool in_tnt = outcomes_ != kNoOutcomes;
  const std::size_t first = reader_.offset();
  pt::PacketReader reader(bytes_, in_tnt ? tnt_at_ : first, config_.errata);
  pt::LastIp last_ip = last_ip_;  // packets that are read again do not change it
  Clock clock = clock_;
  isa::Mode mode = walker_.mode;
  isa::Mode next_mode = exec_pending_ ? mode_of(*exec_pending_) : mode;
  enum class Open : std::uint8_t { none, with_room, full } open = Open::none;
  constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t candidate = kNone;  // a TIP, if a TNT is next
  bool needs_whole_ip = whole_ip_;
  pt::Packet packet;
  for (;;) {
    (void)reader.skip_padding();
    const std::size_t at = reader.offset();
    if (reader.read(packet) != pt::ReadStatus::packet) return std::max(at, first);
    const auto lands = [&] {
      const bool has_ip = last_ip.update(packet);
      mode = next_mode;
      needs_whole_ip = needs_whole_ip && !has_whole_ip(packet);
      return has_ip && !needs_whole_ip && at >= first && can_land(last_ip.ip(), mode, clock.now());
    };
    switch (packet.type) {
      case PacketType::tnt:
        if (candidate != kNone) return candidate;
        open = has_room(packet) ? Open::with_room : Open::full;
        break;
      case PacketType::tip:
        candidate = kNone;
        if (!lands()) break;
        if (open == Open::none) return at;
        if (open == Open::with_room) candidate = at;
        break;
      case PacketType::fup:
        candidate = kNone;
        if (lands()) return at;
        open = Open::none;
        break;
      case PacketType::tip_pge:
      case PacketType::tip_pgd:
      case PacketType::psb:
      case PacketType::ovf:
      case PacketType::trace_stop:
        return at;
      case PacketType::mode_exec:
        next_mode = mode_of(packet.payload);
        candidate = kNone;
        break;
      case PacketType::cyc:  // of the packet that follows
        clock.apply(packet);
        break;
      default:
        clock.apply(packet);
        candidate = kNone;
    }
  }
}

PathDecoder::Step PathDecoder::on_packet_adrift(const pt::Packet& packet) {
  const bool here = packet_at_ == landing_;
  switch (packet.type) {
    case PacketType::tnt:
      out_.stats().tnt_bits += packet.count;
      return {};
    case PacketType::tip:
      (void)last_ip_.update(packet);
      apply_mode();  // told before the end of the loss: the bytes that show this may be yet to come
      if (here) land();
      return {};
    case PacketType::fup: {
      const bool has_ip = last_ip_.update(packet);
      if (here) {
        land();
        return on_fup(packet);
      }
      (void)deliver_bound(has_ip ? last_ip_.ip() : 0);
      return {};
    }
    case PacketType::tip_pgd:
      (void)last_ip_.update(packet);
      adrift_ = false;
      walker_.enabled = false;
      synced_ = true;
      close_gap(0, 0);
      apply_mode();
      return {};
    case PacketType::tip_pge:
      if (whole_ip_ && !has_whole_ip(packet))
        return std::unexpected(impossible(sentences::part_of_ip()));
      adrift_ = false;
      walker_.enabled = false;
      return on_tip_pge(packet);
    default:
      return on_other(packet);
  }
}

// The path goes on where the packet says that was just read.
void PathDecoder::land() {
  adrift_ = false;
  walker_.ip = last_ip_.ip();
  close_gap(walker_.ip, 0);
}

}  // namespace hodo::flow
