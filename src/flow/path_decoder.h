// Follows the packets of one piece of trace and steers the walker with them.
//
// A piece is a row of segments, each from a PSB to the next. Nothing is needed from before a PSB to
// decode what is behind it, and damage reaches no further than the next one. Where only the code is
// not known, the path is found again before (drift.cc).
#pragma once

#include <bit>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "block_cache.h"
#include "hodo/flow/clock.h"
#include "hodo/flow/decoder.h"
#include "hodo/pt/packet.h"
#include "hodo/pt/reader.h"
#include "output.h"
#include "path_memo.h"
#include "psb_plus.h"
#include "steps.h"
#include "walker.h"

namespace hodo::flow {

// What the path is followed for.
enum class Want : std::uint8_t {
  counts,
  edges,
  branches,
  transfers,                // branches without the jumps that the sink leaves out
  exact_transfers,          // the same, and which code ran
  learned_transfers,        // as transfers, while a stretch of packets is learned
  learned_exact_transfers,  // as exact_transfers, likewise
  passages,                 // branches that the sink has not judged, and passages
  runs
};

class PathDecoder {
 public:
  // All must outlive the decoder. Time goes on from piece to piece. `memo` may be null: everything
  // is walked. With a graph the path can be followed by its steps, and then the memo is only for
  // the rest: all the time with `by_steps`, else while the memo waits.
  PathDecoder(BlockCache& blocks, PathMemo* memo, StepGraph* graph, bool by_steps,
              const Config& config, Output& out);

  // A piece is decoded by begin(), advance() until it is at the end, and end(). `after_loss`: it is
  // not the stream's first piece.
  void begin(const Piece& piece, bool after_loss);
  // Pauses in the segment of the first PSB at or behind `limit` (an offset in the piece), when its
  // PSB+ has been read and nothing else, or before one that may be cut off; false at the end of
  // the piece, or if no more is wanted.
  bool advance(std::size_t limit);
  void end();
  bool paused() const { return paused_; }
  // What the piece ends in may turn out to be something else when more of it comes.
  void expect_more() { more_follows_ = true; }

  // Where a decoder paused. What is known of the return stack and IP compression ends at a PSB.
  struct State {
    std::size_t psb = 0;     // in the piece
    std::size_t offset = 0;  // behind the PSB+, if that has been read
    bool entered = true;     // it has
    bool enabled = false;
    bool in_tx = false;
    isa::Mode mode = isa::Mode::bits64;
    std::uint64_t ip = 0;
    pt::LastIp last_ip;
    Clock clock;
    std::optional<std::uint64_t> exec;
    std::optional<std::uint64_t> cbr;
    bool after_overflow = false;
    bool synced = false;
    bool in_gap = false;
    std::uint64_t gap_from = 0;
    std::uint64_t pending_insns = 0;
    std::uint64_t line = 0;  // as Output has it
  };
  State state() const;
  // Goes on where another decoder, of the same piece, paused.
  void resume(const Piece& piece, const State& state);
  // Pauses behind the PSB+ at `psb` as a decoder would that came from before it without a loss, if
  // the PSB+ says all that is not in `known`, the state at some earlier PSB. What it emits on the
  // way is that decoder's affair.
  void assume(const Piece& piece, std::size_t psb, const State& known);
  // Whether decoders that paused so will say the same from here on, but for the instructions of
  // the first branch.
  static bool alike(const State& a, const State& b);

 private:
  // Why a segment cannot be decoded further.
  struct Failure {
    LossCause cause = LossCause::impossible_outcome;
    std::string reason;
    std::uint64_t ip = 0;  // in the code, where the walk gave up
  };
  using Step = std::expected<void, Failure>;

  // What waits for the next FUP.
  struct Bound {
    Event event;
    bool takes_fup = true;  // otherwise the FUP also begins an asynchronous branch
  };

  // The segments. `psb` is the offset in the piece.
  void enter_piece(const Piece& piece, std::size_t offset);
  void start(const Piece& piece, bool after_loss);
  Step enter(std::size_t psb);
  const PsbPlus& psb_plus();
  Step take_psb_plus();
  Step read_psb_plus(std::size_t psb);
  Step status_packet(const pt::Packet& packet);
  void leave_path();
  void change_mode();
  void go_back_in_time(const pt::Packet& tsc);
  Step run();
  Step cross_psb();
  bool resync(const Failure& failure, std::size_t psb);
  // Without the path, from packet to packet, to where it is found again (drift.cc).
  bool drift(const Failure& failure);
  std::size_t look_for_landing();
  bool can_land(std::uint64_t ip, isa::Mode mode, std::uint64_t time);
  Step on_packet_adrift(const pt::Packet& packet);
  void land();
  bool on_path() const { return walker_.enabled && !adrift_; }
  Step inside_filter(std::uint64_t ip, const char* packet) const;
  void arrive(std::uint64_t ip);
  void close_gap(std::uint64_t to, std::uint8_t flags);
  void report(LossCause cause, std::uint64_t skipped, std::uint64_t ip, std::string reason);

  // Step by step (stepping.cc).
  struct Stepper;
  bool goes_by_steps() const { return by_steps_ || (graph_ != nullptr && memo_->waits()); }
  void go_by_steps();
  const CallJudge* judge_of_calls();

  // The paths that are remembered (remembered.cc).
  struct Position {
    Output::Mark mark;
    std::uint64_t ip;
    int level;
    int peak;
  };
  struct Follower;
  bool may_follow() const;
  void follow();
  Halt go_to(std::uint64_t ip);
  bool follow_to(std::uint64_t ip);
  Position watch();
  Position position() const;
  void remember(StepKind kind, std::uint64_t key, unsigned used, const Position& from,
                const Position& to);

  // The packets.
  std::optional<Failure> next_packet(pt::Packet& packet);
  void count(const pt::Packet& packet);
  void count_padding(std::size_t pads);
  void unread(const pt::Packet& packet);
  Step on_packet(const pt::Packet& packet);
  Step on_tnt(const pt::Packet& packet);
  Step follow_outcomes();
  Step take_outcomes();
  static unsigned outcomes_left(std::uint64_t outcomes) {
    return static_cast<unsigned>(std::bit_width(outcomes)) - 1;
  }
  unsigned outcomes_left() const { return outcomes_left(outcomes_); }
  // What is remembered under one key: more outcomes seldom come again in the same order.
  static constexpr unsigned kMostTogether = 8;
  static std::uint64_t first_ones(std::uint64_t outcomes) {
    const unsigned left = outcomes_left(outcomes);
    return left > kMostTogether ? outcomes >> (left - kMostTogether) : outcomes;
  }
  // The outcomes behind the first `used` ones.
  static std::uint64_t without(std::uint64_t outcomes, unsigned used) {
    const std::uint64_t stop = std::uint64_t{1} << (outcomes_left(outcomes) - used);
    return (outcomes & (stop - 1)) | stop;
  }
  Step on_return(const Block& block, bool taken);
  Step on_deferred_tip(const Block& block);
  Step on_tip(const pt::Packet& packet);
  Step on_tip_pgd(const pt::Packet& packet);
  Step on_tip_pge(const pt::Packet& packet);
  Step on_fup(const pt::Packet& packet);
  void on_overflow();
  void on_trace_stop();
  // What errata make of the packets (path_errata.cc).
  Failure traced_while_off(const char* packet) const;
  std::optional<std::uint64_t> aborted_target();
  bool misled_abort(std::uint64_t ip);
  bool stays_off() const;
  // The packets that are no part of the path (path_events.cc).
  Step on_other(const pt::Packet& packet);
  void on_pip(const pt::Packet& packet);
  void on_ptw(const pt::Packet& packet);
  void on_mode_tsx(const pt::Packet& packet);
  Step on_cfe(const pt::Packet& packet);
  Step on_evd(const pt::Packet& packet);
  void on_cbr(const pt::Packet& packet);

  void tell(EventKind kind, const pt::Packet& packet);
  void tell_or_bind(EventKind kind, const pt::Packet& packet, bool binds);
  void bind(const Event& event, bool takes_fup);
  Event event_here(EventKind kind, const pt::Packet& packet) const;
  Step nothing_waits(pt::PacketType next);
  void give_up_mwait();
  bool deliver_bound(std::uint64_t ip);
  void give_up_bound();
  void deliver(const Event& event);
  static isa::Mode mode_of(std::uint64_t exec_bits);
  void apply_mode();
  void apply_tsx(std::uint64_t bits);
  void tick(const pt::Packet& packet);
  void forget_pending();

  std::uint64_t offset() const { return piece_offset_ + packet_at_; }
  Failure stopped(Halt halt, const char* packet) const;
  Failure unfit(const char* packet, const Block& block) const;
  static Failure impossible(std::string reason) { return {.reason = std::move(reason)}; }

  // Outcomes of TNT packets that are still to come, under a stop bit. 1: none.
  static constexpr std::uint64_t kNoOutcomes = 1;
  static constexpr std::uint64_t kTsxAbort = 2;  // of MODE.TSX

  const Config& config_;
  BlockCache& blocks_;
  PathMemo* memo_;
  StepGraph* graph_;
  const bool by_steps_;
  Output& out_;
  StretchBuilder builder_;
  Walker walker_;
  Clock clock_;
  pt::PacketReader reader_{{}};
  pt::LastIp last_ip_;
  std::span<const std::uint8_t> bytes_;  // of the piece
  std::uint64_t piece_offset_ = 0;
  std::size_t cut_off_from_ = Piece::kWhole;  // in the piece
  struct Looked {
    const std::uint8_t* at = nullptr;
    bool bdm70 = false;
    PsbPlus found;
  } looked_;                   // into the last PSB+
  std::size_t psb_ = 0;        // of the segment
  bool paused_ = false;        // the PSB+ has been read
  bool more_follows_ = false;  // behind the piece's bytes
  std::size_t packet_at_ = 0;  // of the packet being handled, in the piece

  std::uint64_t outcomes_ = kNoOutcomes;
  std::size_t tnt_at_ = 0;   // of the TNT packet that outcomes_ are of, in the piece
  bool adrift_ = false;      // tracing is on, and nobody knows where: the path is lost
  std::size_t landing_ = 0;  // adrift: the packet that says where, in the piece
  bool whole_ip_ = false;    // adrift: packets with a part of an IP do not say where
  bool lost_calls_ = false;  // the processor's return stack has calls that were not seen
  std::optional<std::uint64_t> async_from_;  // a FUP that waits for its TIP
  BranchKind async_kind_ = BranchKind::irq;
  std::optional<std::uint64_t> exec_pending_;  // MODE.Exec bits, for the next TIP
  std::optional<std::uint64_t> exec_;          // MODE.Exec bits in force
  std::vector<Bound> bound_;
  std::uint32_t event_data_ = 0;  // types of EVD packets that wait for their CFE, as bits
  std::optional<std::uint64_t> cbr_;
  bool after_overflow_ = false;  // and not clear yet whether tracing is on
  bool synced_ = false;          // the state comes from the packets before
  bool in_gap_ = false;
  std::uint64_t gap_from_ = 0;
};

}  // namespace hodo::flow
