#include "hodo/flow/decoder.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "block_cache.h"
#include "course.h"
#include "hodo/base/processors.h"
#include "output.h"
#include "parallel.h"
#include "path_decoder.h"

namespace hodo::flow {
namespace {

template <std::size_t N>
void add(std::array<std::uint64_t, N>& to, const std::array<std::uint64_t, N>& from) {
  for (std::size_t i = 0; i < N; ++i) to[i] += from[i];
}

}  // namespace

std::uint64_t Stats::total_losses() const {
  return std::accumulate(losses.begin(), losses.end(), std::uint64_t{0});
}

Stats& Stats::operator+=(const Stats& other) {
  bytes += other.bytes;
  skipped_bytes += other.skipped_bytes;
  instructions += other.instructions;
  not_taken += other.not_taken;
  wrong_path += other.wrong_path;
  tnt_bits += other.tnt_bits;
  add(branches, other.branches);
  add(packets, other.packets);
  add(packet_bytes, other.packet_bytes);
  add(events, other.events);
  add(losses, other.losses);
  return *this;
}

class Decoder::Impl {
 public:
  Impl(const image::CodeSource& code, const Config& config) : code_(code), config_(config) {
    if (config_.threads == 0) config_.threads = usable_processors();
    knowledge(1);
  }

  Stats decode(PieceSource& stream, BranchSink& sink) {
    const bool leave_out =
        sink.leaves_out_jumps() && !config_.want_not_taken && !config_.want_instructions;
    const bool passages =
        sink.wants_passages() && !config_.want_not_taken && !config_.want_instructions;
    return run(stream, config_,
               {.listener = sink,
                .branches = &sink,
                .leave_out_jumps = leave_out && !passages,
                .passages = passages,
                .written = sink.writes()});
  }
  Stats cover(PieceSource& stream, const Receivers& to) {
    Config config = config_;
    config.want_not_taken = true;
    config.want_instructions = false;
    return run(stream, config, to);
  }
  Stats count(PieceSource& stream, Listener& listener) {
    Config config = config_;
    config.want_instructions = false;
    return run(stream, config, {.listener = listener});
  }

 private:
  enum class Asks : std::uint8_t { nothing, left_out, judged };
  using Knowledges = std::span<const std::unique_ptr<Knowledge>>;

  Knowledges knowledge(std::size_t threads) {
    while (knowledge_.size() < threads) {
      knowledge_.push_back(std::make_unique<Knowledge>(code_));
      if (times_) knowledge_.back()->graph.want_times();
      knowledge_.back()->memo.begin_trace(again(), config_);
    }
    return std::span(knowledge_).first(threads);
  }

  Stats run(PieceSource& stream, const Config& config, const Receivers& to) {
    // What a path's edges are depends on it.
    if (std::exchange(not_taken_known_, config.want_not_taken) != config.want_not_taken) {
      for (const auto& one : knowledge_) one->memo.clear();
    }
    // Steps keep what a sink said of their branches in the place of counts.
    forget_answers(to.passages          ? Asks::judged
                   : to.leave_out_jumps ? Asks::left_out
                                        : Asks::nothing);
    if (to.edges != nullptr || to.runs != nullptr) want_times();
    const std::uint64_t at_once = to_take_at_once(config, to);
    begin_trace();
    const bool by_steps = to.wants_steps();
    Knowledge& own = *knowledge_.front();
    Output out(config, to);
    PathDecoder decoder(own.blocks, config.want_instructions ? nullptr : &own.memo, &own.graph,
                        by_steps, config, out);
    Course course(stream, decoder, out, at_once);
    int wrong = 0;
    while (course.next()) {
      if (course.begins()) wrong = 0;
      const Piece& piece = course.piece();
      const Config how = for_threads(piece, config, to);
      bool paused = false;
      if (Crew::is_worth_it(piece, how)) {
        // The asking thread has the first one's, and seldom decodes.
        Crew crew(piece, course.limit(), how, to, by_steps, decoder, out,
                  knowledge(1 + how.threads).subspan(1), wrong);
        paused = crew.decode();
      } else {
        paused = decoder.advance(course.limit());
        if (!paused) decoder.end();
      }
      course.done(paused);
    }
    out.settle(own.memo);
    out.settle(own.graph);
    out.flush();
    return out.stats();
  }

  bool again() const { return traces_ > 1; }

  void begin_trace() {
    ++traces_;
    for (const auto& one : knowledge_) one->memo.begin_trace(again(), config_);
  }

  void want_times() {
    times_ = true;
    for (const auto& one : knowledge_) one->graph.want_times();
  }

  void forget_answers(Asks now) {
    const Asks before = std::exchange(asked_, now);
    if (before == Asks::nothing && now == Asks::nothing) return;
    for (const auto& one : knowledge_) {
      if (before == Asks::judged && now == Asks::judged) {
        one->graph.forget_judged(0);
      } else {
        one->graph.clear();
      }
    }
  }

  // Counts are settled at the end of what a thread takes: not too often.
  static constexpr std::size_t kMostShare = 16 << 20;
  static constexpr std::size_t kShares = 8;  // of a thread

  static std::uint64_t to_take_at_once(const Config& config, const Receivers& to) {
    const bool counts = to.branches == nullptr && config.threads > 1;
    return counts ? std::uint64_t{kShares} * config.threads * kMostShare : 0;
  }

  static Config for_threads(const Piece& piece, const Config& config, const Receivers& to) {
    // What a thread is ahead has to lie in memory, and in caches if it can.
    constexpr std::size_t kToWrite = 16 << 10;
    Config how = config;
    if (to.written) how.thread_bytes = std::min(how.thread_bytes, kToWrite);
    if (to.branches != nullptr) return how;
    const std::size_t share = piece.bytes.size() / (kShares * config.threads);
    how.thread_bytes = std::max(how.thread_bytes, std::min(share, kMostShare));
    return how;
  }

  const image::CodeSource& code_;
  Config config_;
  std::vector<std::unique_ptr<Knowledge>> knowledge_;
  bool not_taken_known_ = false;
  std::size_t traces_ = 0;      // so far, with this one
  bool times_ = false;          // StepGraph::want_times
  Asks asked_ = Asks::nothing;  // what the steps' counts are of the last decoding
};

Decoder::Decoder(const image::CodeSource& code, const Config& config)
    : impl_(std::make_unique<Impl>(code, config)) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&& other) noexcept = default;
Decoder& Decoder::operator=(Decoder&& other) noexcept = default;

Stats Decoder::decode(PieceSource& stream, BranchSink& sink) { return impl_->decode(stream, sink); }
Stats Decoder::cover(PieceSource& stream, EdgeSink& sink) {
  return impl_->cover(stream, {.listener = sink, .edges = &sink});
}
Stats Decoder::cover(PieceSource& stream, RunSink& sink) {
  return impl_->cover(stream, {.listener = sink, .runs = &sink});
}
Stats Decoder::count(PieceSource& stream, Listener& listener) {
  return impl_->count(stream, listener);
}

Stats Decoder::decode(std::span<const Piece> pieces, BranchSink& sink) {
  WholeStream stream(pieces);
  return decode(stream, sink);
}
Stats Decoder::cover(std::span<const Piece> pieces, EdgeSink& sink) {
  WholeStream stream(pieces);
  return cover(stream, sink);
}
Stats Decoder::cover(std::span<const Piece> pieces, RunSink& sink) {
  WholeStream stream(pieces);
  return cover(stream, sink);
}
Stats Decoder::count(std::span<const Piece> pieces, Listener& listener) {
  WholeStream stream(pieces);
  return count(stream, listener);
}

Stats decode(std::span<const Piece> pieces, const image::CodeSource& code, const Config& config,
             BranchSink& sink) {
  return Decoder(code, config).decode(pieces, sink);
}

Stats decode(std::span<const std::uint8_t> trace, const image::CodeSource& code,
             const Config& config, BranchSink& sink) {
  const Piece piece{.bytes = trace};
  return decode(std::span(&piece, 1), code, config, sink);
}

}  // namespace hodo::flow
