#include "packet_walk.h"

#include <algorithm>
#include <optional>

#include "hodo/pt/reader.h"

namespace hodo::session {
namespace {

bool carries_ip(pt::PacketType type) {
  using enum pt::PacketType;
  return type == tip || type == tip_pge || type == tip_pgd || type == fup;
}

// From piece to piece.
class Walk {
 public:
  Walk(const pt::Errata& errata, const Context& who, PacketSink& sink, flow::Stats& stats,
       LossTally& losses)
      : errata_(errata), who_(who), sink_(sink), stats_(stats), losses_(losses) {}

  void begin(const flow::Piece& piece, bool is_first) {
    last_ip_.clear();
    go_on(piece);
    if (is_first) return;
    sink_.gap(piece.lost_before);
    const flow::LossCause cause =
        piece.altered_before ? flow::LossCause::altered : flow::LossCause::recorder_lost;
    ++stats_.losses[static_cast<std::size_t>(cause)];
    losses_.add(flow::name(cause),
                {.who = who_,
                 .offset = piece.offset,
                 .reason = piece.altered_before ? "data before this offset is not what was recorded"
                                                : "data is missing before this offset"},
                piece.lost_before);
  }
  void go_on(const flow::Piece& piece) {
    piece_ = piece;
    reader_ = pt::PacketReader(piece.bytes, 0, errata_);
  }

  // To the first packet at or behind the offset in the piece, which is given; nullopt: the sink
  // wants no more.
  std::optional<std::size_t> run(std::size_t limit) {
    while (reader_.offset() < limit) {
      const std::size_t start = reader_.offset();
      auto packet = reader_.next();
      if (!(packet ? good(start, *packet) : bad(start, packet.error()))) return std::nullopt;
    }
    stats_.bytes += reader_.offset();
    return reader_.offset();
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

  const pt::Errata& errata_;
  flow::Piece piece_;
  pt::PacketReader reader_{{}};
  pt::LastIp last_ip_;
  const Context& who_;
  PacketSink& sink_;
  flow::Stats& stats_;
  LossTally& losses_;
};

}  // namespace

bool walk_packets(flow::PieceSource& stream, const pt::Errata& errata, const Context& who,
                  PacketSink& sink, flow::Stats& stats, LossTally& losses) {
  using enum flow::PieceWalk::Next;
  flow::PieceWalk pieces(stream);
  Walk walk(errata, who, sink, stats, losses);
  for (auto next = pieces.next(); next != nothing; next = pieces.next()) {
    if (next == breaks) continue;
    if (next == begins) {
      walk.begin(pieces.piece(), pieces.is_first());
    } else {
      walk.go_on(pieces.piece());
    }
    const auto reached = walk.run(pieces.limit());
    if (!reached) return false;
    if (*reached < pieces.piece().bytes.size()) {
      pieces.pause(*reached);
    } else {
      pieces.end();
    }
  }
  return true;
}

}  // namespace hodo::session
