#include "hodo/flow/growing.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "hodo/pt/reader.h"
#include "output.h"
#include "parallel.h"
#include "path_decoder.h"
#include "psb_plus.h"

namespace hodo::flow {
namespace {

using pt::PacketType;

constexpr std::size_t kEnd = ~std::size_t{0};
constexpr std::size_t kPsbSize = 16;

// Hands on what was not told before: decoding again says the same again first.
class Untold final : public BranchSink {
 public:
  struct Told {
    std::uint64_t branches = 0;
    std::uint64_t losses = 0;
    std::uint64_t events = 0;
  };

  // `last`: no bytes follow.
  Untold(BranchSink& to, const Told& before, bool last) : to_(to), before_(before), last_(last) {}

  void on_branches(std::span<const Branch> batch) override {
    const auto known = static_cast<std::size_t>(
        std::min<std::uint64_t>(left(before_.branches, said_.branches), batch.size()));
    said_.branches += batch.size();
    if (known < batch.size()) to_.on_branches(batch.subspan(known));
  }
  bool wants_repeats() const override { return to_.wants_repeats(); }
  void on_repeats(const Repeats& batch) override {
    if (left(before_.branches, said_.branches) != 0) return on_branches(batch.all());
    said_.branches += batch.walked.size();
    for (const Repeat& repeat : batch.list) said_.branches += repeat.count;
    to_.on_repeats(batch);
  }
  bool wants_passages() const override { return to_.wants_passages(); }
  Judged judged(const Branch& branch, std::uint64_t next) override {
    return to_.judged(branch, next);
  }
  std::uint64_t judged_by(std::uint64_t time) override { return to_.judged_by(time); }
  void on_passages(const Passages& batch) override {
    if (left(before_.branches, said_.branches) != 0) return on_branches(batch.all());
    said_.branches += batch.walked.size();
    for (const Passage& passage : batch.list) said_.branches += passage.branches;
    to_.on_passages(batch);
  }
  void on_loss(const Loss& loss) override {
    // What is cut off now may turn out to be damage, or a packet after all.
    if (loss.cause == LossCause::truncated && !last_) return;
    if (said_.losses++ >= before_.losses) to_.on_loss(loss);
  }
  void on_event(const Event& event) override {
    if (said_.events++ >= before_.events) to_.on_event(event);
  }
  bool on_progress(std::uint64_t offset) override { return to_.on_progress(offset); }

  // From here on all is new that was not told in the time before.
  void start_over() {
    before_ = {left(before_.branches, said_.branches), left(before_.losses, said_.losses),
               left(before_.events, said_.events)};
    said_ = {};
  }
  // What has been told since the last start.
  Told told() const {
    return {std::max(before_.branches, said_.branches), std::max(before_.losses, said_.losses),
            std::max(before_.events, said_.events)};
  }

 private:
  static std::uint64_t left(std::uint64_t of, std::uint64_t gone) {
    return of - std::min(of, gone);
  }

  BranchSink& to_;
  Told before_;
  Told said_;
  const bool last_;
};

// What the bytes of one segment, or of the part of it that is there, settle.
struct Settled {
  // The bytes before this lead as far as they ever will. A TNT is followed by the TIPs of the
  // branches that its outcomes lie behind (SDM, "Deferred TIPs"), of which more may come.
  std::size_t end = 0;
  // The PSB+ is there, and followed by a packet that shows whether tracing is on.
  bool has_psb_plus = false;
  bool whole = false;  // so are packets up to the segment's end
};

Settled settled(std::span<const std::uint8_t> segment, const pt::Errata& errata) {
  pt::PacketReader reader(segment, 0, errata);
  pt::Packet packet;
  Settled out;
  bool behind_psb_plus = false;
  for (;;) {
    (void)reader.skip_padding();
    const std::size_t at = reader.offset();
    if (reader.read(packet) != pt::ReadStatus::packet) break;
    if (packet.type == PacketType::psb && at != 0) break;  // what follows it is not all here
    if (is_timing_or_pad(packet.type)) continue;
    if (!behind_psb_plus) {
      behind_psb_plus = packet.type == PacketType::psbend;
      if (behind_psb_plus || may_be_in_psb_plus(packet.type) || at == 0) continue;
      return {};  // what comes instead of a PSBEND is damage
    }
    out.has_psb_plus = true;
    const bool settles = packet.type == PacketType::tip_pge || packet.type == PacketType::tip_pgd;
    if (packet.type != PacketType::tip) out.end = settles ? reader.offset() : at;
  }
  out.whole = behind_psb_plus && reader.at_end();
  return out;
}

}  // namespace

class GrowingDecoder::Impl {
 public:
  Impl(const image::CodeSource& code, const Config& config) : config_(config) {
    replace(code, config);
  }

  void replace(const image::CodeSource& code, const Config& config) {
    config_ = config;
    knowledge_ = std::make_unique<Knowledge>(code);
    knowledge_->memo.begin_trace(false, config_);
  }

  void add(const Piece& piece, bool after_loss, BranchSink& sink) {
    if (begun_ && (after_loss || piece.offset != begin_ + bytes_.size())) {
      run(bytes_.size(), true, sink);
      lost_before_ = piece.lost_before;
      altered_before_ = piece.altered_before;
      after_loss_ = true;
      fresh_ = true;
    }
    if (fresh_) {
      begin_ = piece.offset;
      bytes_.clear();
      fresh_ = false;
    }
    begun_ = true;
    bytes_.insert(bytes_.end(), piece.bytes.begin(), piece.bytes.end());
  }

  void decode(BranchSink& sink) {
    if (const std::size_t end = last_settled(); end != 0) run(end, false, sink);
  }

  void end(BranchSink& sink) {
    if (begun_) run(bytes_.size(), true, sink);
    begun_ = false;
  }

 private:
  // Where a round begins: at the start of a piece, or where the one before paused.
  void enter(PathDecoder& decoder, const Piece& piece) {
    // Behind a loss the clock goes on, and the place where the path was left is known.
    if (state_) decoder.resume(piece, *state_);
    if (!paused_) decoder.begin(piece, after_loss_);
  }

  // The end of what is settled. Also finds the last PSB to pause at.
  std::size_t last_settled() {
    std::vector<std::size_t> psbs;
    pt::PacketReader reader(bytes_);
    std::size_t behind = bytes_.size();
    while (reader.sync_forward()) {
      // Of a run of what looks like a PSB's beginning the last one counts: more of it may come.
      if (bytes_.size() - reader.offset() < 2 * kPsbSize) {
        behind = reader.offset();
        break;
      }
      psbs.push_back(reader.offset());
      reader.seek(reader.offset() + kPsbSize);
    }
    pause_at_ = kEnd;
    std::size_t end = 0;
    for (std::size_t i = psbs.size(); i-- > 0 && pause_at_ == kEnd;) {
      const std::size_t begin = psbs[i];
      const Settled found =
          settled(std::span(bytes_).subspan(begin, behind - begin), config_.errata);
      const bool last = i + 1 == psbs.size();
      if (end == 0 && (last || !found.whole)) end = found.end == 0 ? 0 : begin + found.end;
      if (end == 0 && !last && found.whole) end = behind;
      if (found.has_psb_plus && begin < end && (begin > 0 || !paused_)) pause_at_ = begin;
      behind = begin;
    }
    return end;
  }

  void run(std::size_t size, bool last, BranchSink& sink) {
    const Piece piece{.bytes = std::span(bytes_).first(size),
                      .offset = begin_,
                      .lost_before = lost_before_,
                      .altered_before = altered_before_};
    Untold untold(sink, told_, last);
    const Receivers to{.listener = untold, .branches = &untold, .passages = sink.wants_passages()};
    Output out(config_, to);
    PathDecoder decoder(knowledge_->blocks, &knowledge_->memo, &knowledge_->graph, to.wants_steps(),
                        config_, out);
    enter(decoder, piece);
    if (!last) decoder.expect_more();
    bool more = true;
    if (!last && pause_at_ != kEnd) {
      more = decoder.advance(pause_at_);
      if (more) pause(decoder, out, untold);
    }
    if (more) (void)decoder.advance(kEnd);
    if (last) {
      decoder.end();
      out.flush();
      state_ = decoder.state();
      paused_ = false;
      told_ = {};
    } else {
      out.flush();
      told_ = untold.told();
    }
    out.settle(knowledge_->memo);
    out.settle(knowledge_->graph);
    drop_decoded();
  }

  void pause(const PathDecoder& decoder, Output& out, Untold& untold) {
    out.flush();
    untold.start_over();
    state_ = decoder.state();
    paused_ = true;
  }

  // What lies before the pause is not needed again.
  void drop_decoded() {
    if (!paused_ || state_->psb == 0) return;
    const std::size_t size = state_->psb;
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size));
    begin_ += size;
    state_->psb = 0;
    state_->offset -= size;
  }

  Config config_;
  std::unique_ptr<Knowledge> knowledge_;
  std::vector<std::uint8_t> bytes_;  // of the piece at work, from the pause on
  std::uint64_t begin_ = 0;          // of bytes_ in the stream
  std::uint64_t lost_before_ = 0;    // of the piece at work
  bool altered_before_ = false;
  bool after_loss_ = false;  // the piece at work is not the stream's first
  bool begun_ = false;
  bool fresh_ = true;  // no bytes of the piece at work are here
  std::optional<PathDecoder::State> state_;
  bool paused_ = false;  // state_ is at the front of bytes_; else where the last piece ended
  std::size_t pause_at_ = kEnd;  // the PSB to pause at
  Untold::Told told_;            // of what lies behind the pause
};

GrowingDecoder::GrowingDecoder(const image::CodeSource& code, const Config& config)
    : impl_(std::make_unique<Impl>(code, config)) {}
GrowingDecoder::~GrowingDecoder() = default;
GrowingDecoder::GrowingDecoder(GrowingDecoder&& other) noexcept = default;
GrowingDecoder& GrowingDecoder::operator=(GrowingDecoder&& other) noexcept = default;

void GrowingDecoder::replace(const image::CodeSource& code, const Config& config) {
  impl_->replace(code, config);
}
void GrowingDecoder::add(const Piece& piece, bool after_loss, BranchSink& sink) {
  impl_->add(piece, after_loss, sink);
}
void GrowingDecoder::decode(BranchSink& sink) { impl_->decode(sink); }
void GrowingDecoder::end(BranchSink& sink) { impl_->end(sink); }

}  // namespace hodo::flow
