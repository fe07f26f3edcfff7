#include "packet_walk.h"

#include <algorithm>

#include "hodo/pt/reader.h"

namespace hodo::session {
namespace {

bool carries_ip(pt::PacketType type) {
  using enum pt::PacketType;
  return type == tip || type == tip_pge || type == tip_pgd || type == fup;
}

// The packets of one piece.
class Walk {
 public:
  Walk(const flow::Piece& piece, const pt::Errata& errata, const Context& who, PacketSink& sink,
       flow::Stats& stats, LossTally& losses)
      : piece_(piece),
        reader_(piece.bytes, 0, errata),
        who_(who),
        sink_(sink),
        stats_(stats),
        losses_(losses) {}

  bool run() {
    while (!reader_.at_end()) {
      std::size_t start = reader_.offset();
      auto packet = reader_.next();
      if (!(packet ? good(start, *packet) : bad(start, packet.error()))) return false;
    }
    return true;
  }

 private:
  bool good(std::size_t start, const pt::Packet& packet) {
    auto type = static_cast<std::size_t>(packet.type);
    ++stats_.packets[type];
    stats_.packet_bytes[type] += packet.size;
    if (packet.type == pt::PacketType::tnt) stats_.tnt_bits += packet.count;
    PacketAt at{.offset = piece_.offset + start,
                .bytes = piece_.bytes.subspan(start, packet.size),
                .packet = &packet};
    if (packet.type == pt::PacketType::psb) last_ip_.clear();
    if (carries_ip(packet.type) && last_ip_.update(packet)) at.ip = last_ip_.ip();
    return sink_.packet(at);
  }

  bool bad(std::size_t start, const Error& error) {
    reader_.seek(std::min(start + 1, piece_.bytes.size()));
    reader_.sync_forward();
    std::size_t size = reader_.offset() - start;
    bool cut = error.code == ErrorCode::truncated;
    stats_.skipped_bytes += size;
    flow::LossCause cause = cut ? flow::LossCause::truncated : flow::LossCause::bad_packet;
    losses_.add(flow::name(cause),
                {.who = who_, .offset = piece_.offset + start, .reason = error.message}, size);
    return sink_.packet({.offset = piece_.offset + start,
                         .bytes = piece_.bytes.subspan(start, size),
                         .error = error.message});
  }

  const flow::Piece& piece_;
  pt::PacketReader reader_;
  pt::LastIp last_ip_;
  const Context& who_;
  PacketSink& sink_;
  flow::Stats& stats_;
  LossTally& losses_;
};

}  // namespace

bool walk_packets(std::span<const flow::Piece> pieces, const pt::Errata& errata, const Context& who,
                  PacketSink& sink, flow::Stats& stats, LossTally& losses) {
  bool first = true;
  for (const flow::Piece& piece : pieces) {
    stats.bytes += piece.bytes.size();
    if (!first) {
      sink.gap(piece.lost_before);
      flow::LossCause cause =
          piece.altered_before ? flow::LossCause::altered : flow::LossCause::recorder_lost;
      ++stats.losses[static_cast<std::size_t>(cause)];
      losses.add(
          flow::name(cause),
          {.who = who,
           .offset = piece.offset,
           .reason = piece.altered_before ? "data before this offset is not what was recorded"
                                          : "data is missing before this offset"},
          piece.lost_before);
    }
    first = false;
    if (!Walk(piece, errata, who, sink, stats, losses).run()) return false;
  }
  return true;
}

}  // namespace hodo::session
