#include <algorithm>
#include <limits>
#include <optional>

#include "course.h"
#include "hodo/base/processors.h"
#include "hodo/flow/checkpoint.h"
#include "output.h"
#include "parallel.h"
#include "path_decoder.h"

namespace hodo::flow {
namespace {

constexpr std::size_t kEnd = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kPsbSize = 16;
// The largest PSB+ group that a checkpoint can stand behind, with padding.
constexpr std::uint64_t kLargestPsbPlus = PartDecoder::kBehind / 2;

// State words: what is true or false, then numbers, then the clock's.
enum Bit : std::uint8_t { kOn, kInTx, kOverflow, kSynced, kInGap, kExec, kCbr, kModeBit };

Checkpoint checkpoint_of(const PathDecoder::State& s, std::uint64_t piece_offset) {
  const auto bit = [](bool value, Bit at) { return std::uint64_t{value} << at; };
  Checkpoint out{.offset = piece_offset + s.psb};
  const Clock::Words clock = s.clock.words();
  out.state = {bit(s.enabled, kOn) | bit(s.in_tx, kInTx) | bit(s.after_overflow, kOverflow) |
                   bit(s.synced, kSynced) | bit(s.in_gap, kInGap) | bit(s.exec.has_value(), kExec) |
                   bit(s.cbr.has_value(), kCbr) | static_cast<std::uint64_t>(s.mode) << kModeBit,
               s.offset - s.psb,
               s.ip,
               s.last_ip.ip(),
               s.exec.value_or(0),
               s.cbr.value_or(0),
               s.in_gap ? s.gap_from : 0,
               s.pending_insns,
               s.line};
  std::ranges::copy(clock, out.state.begin() + 9);
  return out;
}

// nullopt: no decoder was ever in this state.
std::optional<PathDecoder::State> state_of(const Checkpoint& checkpoint, const Config& config) {
  const auto& w = checkpoint.state;
  const auto is = [&w](Bit at) { return (w[0] >> at & 1) != 0; };
  const std::uint64_t mode = w[0] >> kModeBit;
  if (mode > static_cast<std::uint64_t>(isa::Mode::bits64)) return std::nullopt;
  if (w[1] < kPsbSize || w[1] > kLargestPsbPlus) return std::nullopt;
  PathDecoder::State out{.psb = 0,
                         .offset = static_cast<std::size_t>(w[1]),
                         .enabled = is(kOn),
                         .in_tx = is(kInTx),
                         .mode = static_cast<isa::Mode>(mode),
                         .ip = w[2],
                         .last_ip = pt::LastIp(w[3]),
                         .clock = Clock(config),
                         .after_overflow = is(kOverflow),
                         .synced = is(kSynced),
                         .in_gap = is(kInGap),
                         .gap_from = w[6],
                         .pending_insns = w[7],
                         .line = w[8]};
  if (is(kExec)) out.exec = w[4];
  if (is(kCbr)) out.cbr = w[5];
  Clock::Words clock{};
  std::copy_n(w.begin() + 9, clock.size(), clock.begin());
  if (!out.clock.set_words(clock)) return std::nullopt;
  return out;
}
static_assert(Checkpoint::kWords == 9 + std::tuple_size_v<Clock::Words>);

}  // namespace

class PartDecoder::Impl {
 public:
  Impl(const image::CodeSource& code, const Config& config)
      : code_(code), config_(config), knowledge_(code) {
    if (config_.threads == 0) config_.threads = usable_processors();
  }

  Stats decode(PieceSource& stream, std::size_t spacing, CheckpointSink& sink) {
    Config how = config_;
    how.thread_bytes = std::max(spacing, std::size_t{1});
    const bool leave_out =
        sink.leaves_out_jumps() && !config_.want_not_taken && !config_.want_instructions;
    const Receivers to{.listener = sink, .branches = &sink, .leave_out_jumps = leave_out};
    if (leave_out) forget_answers();
    Output out(how, to);
    PathDecoder decoder = decoder_for(out, leave_out);
    Course course(stream, decoder, out);
    int wrong = 0;
    while (course.next()) {
      if (course.begins()) wrong = 0;
      const Piece& piece = course.piece();
      const std::size_t end = course.limit();
      const auto mark = [&](const PathDecoder::State& state) {
        // A group that is longer than any processor writes is no place to go on.
        if (state.offset - state.psb > kLargestPsbPlus) return;
        sink.on_checkpoint(checkpoint_of(state, piece.offset));
        knowledge_.graph.forget_ran();
      };
      bool paused = false;
      if (Crew::is_worth_it(piece, how)) {
        Crew crew(piece, end, how, to, leave_out, decoder, out, crew_knowledge(), wrong);
        paused = crew.decode(mark);
      } else {
        paused = decode(decoder, end, how.thread_bytes, out, mark);
      }
      course.done(paused);
    }
    Stats stats = finish(out);
    if (leave_out) forget_answers();
    return stats;
  }

  bool decode_part(const Checkpoint* checkpoint, std::span<const Piece> pieces, std::uint64_t until,
                   BranchSink& sink, Stats& stats) {
    const auto state = checkpoint == nullptr ? std::nullopt : state_of(*checkpoint, config_);
    if (checkpoint != nullptr) {
      if (!state || pieces.empty() || pieces[0].offset != checkpoint->offset) return false;
      if (state->offset > pieces[0].bytes.size()) return false;
    }
    const Receivers to{.listener = sink, .branches = &sink};
    Output out(config_, to);
    PathDecoder decoder = decoder_for(out);
    int wrong = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const Piece& piece = pieces[i];
      if (i == 0 && state) {
        decoder.resume(piece, *state);
      } else {
        decoder.begin(piece, i > 0);
      }
      const std::uint64_t rest = until - std::min(until, piece.offset);
      const bool within = rest < piece.bytes.size();
      const std::size_t end = within ? static_cast<std::size_t>(rest) : kEnd;
      bool paused = false;
      if (Crew::is_worth_it(piece, config_)) {
        Crew crew(piece, end, config_, to, false, decoder, out, crew_knowledge(), wrong);
        paused = crew.decode();
      } else {
        paused = decoder.advance(end);
        if (!paused) decoder.end();
      }
      if (paused) break;
    }
    stats = finish(out);
    return true;
  }

 private:
  // By this thread, as Crew does.
  bool decode(PathDecoder& decoder, std::size_t end, std::size_t spacing, Output& out,
              const Crew::AtStretch& mark) {
    if (decoder.paused()) {
      out.flush();  // the last round's
      mark(decoder.state());
    }
    std::size_t next = decoder.state().offset + spacing;
    while (decoder.advance(std::min(next, end))) {
      const PathDecoder::State state = decoder.state();
      if (state.psb >= end) return true;
      out.flush();
      mark(state);
      next = state.psb + spacing;
    }
    decoder.end();
    return false;
  }

  PathDecoder decoder_for(Output& out, bool by_steps = false) {
    return {knowledge_.blocks, &knowledge_.memo, &knowledge_.graph, by_steps, config_, out};
  }
  // Steps keep what a sink said of their branches.
  void forget_answers() {
    knowledge_.graph.clear();
    for (const auto& one : of_crew_) one->graph.clear();
  }
  std::span<const std::unique_ptr<Knowledge>> crew_knowledge() {
    while (of_crew_.size() < config_.threads)
      of_crew_.push_back(std::make_unique<Knowledge>(code_));
    return of_crew_;
  }
  Stats finish(Output& out) {
    out.settle(knowledge_.memo);
    out.settle(knowledge_.graph);
    out.flush();
    return out.stats();
  }

  const image::CodeSource& code_;
  Config config_;
  Knowledge knowledge_;
  std::vector<std::unique_ptr<Knowledge>> of_crew_;
};

PartDecoder::PartDecoder(const image::CodeSource& code, const Config& config)
    : impl_(std::make_unique<Impl>(code, config)) {}
PartDecoder::~PartDecoder() = default;

Stats PartDecoder::decode(PieceSource& stream, std::size_t spacing, CheckpointSink& sink) {
  return impl_->decode(stream, spacing, sink);
}

bool PartDecoder::decode_part(const Checkpoint* checkpoint, std::span<const Piece> pieces,
                              std::uint64_t until, BranchSink& sink, Stats& stats) {
  return impl_->decode_part(checkpoint, pieces, until, sink, stats);
}

}  // namespace hodo::flow
