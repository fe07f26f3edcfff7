// The decoder while it follows the path step by step (stepping.cc).
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "judging_pen.h"
#include "learned_stretches.h"
#include "packet_bytes.h"
#include "path_decoder.h"
#include "step_pen.h"
#include "stretch_learner.h"
#include "transfer_pen.h"

namespace hodo::flow {

template <Want kWant>
constexpr bool kLearns = kWant == Want::learned_transfers || kWant == Want::learned_exact_transfers;
template <Want kWant>
constexpr bool kExact = kWant == Want::exact_transfers || kWant == Want::learned_exact_transfers;
template <Want kWant>
constexpr bool kSums = kWant == Want::transfers || kWant == Want::learned_transfers;
template <Want kWant>
constexpr bool kLeavesOut = kExact<kWant> || kSums<kWant>;
// What is learned of them meanwhile.
template <Want kWant>
constexpr Want kLearned = kExact<kWant> ? Want::learned_exact_transfers : Want::learned_transfers;
template <Want kWant>
constexpr bool kWrites = kWant == Want::branches || kLeavesOut<kWant> || kWant == Want::passages;
template <Want kWant>
constexpr bool kCounts = !kWrites<kWant>;
// Several steps may be taken at once: what they come to can be added up.
template <Want kWant>
constexpr bool kJumps = kCounts<kWant> || kWant == Want::passages || kSums<kWant>;
template <Want kWant>
constexpr bool kCountsEdges = kWant == Want::edges || kWant == Want::runs;

// Its state, in registers as far as possible, and what was counted.
struct PathDecoder::Stepper {
  explicit Stepper(PathDecoder& decoder)
      : memo(*decoder.memo_),
        graph(*decoder.graph_),
        out(decoder.out_),
        returns(decoder.walker_.returns()),
        time(decoder.walker_.time),
        mode(decoder.walker_.mode),
        at(decoder.bytes_.data() + decoder.reader_.offset()),
        end(at + std::min(decoder.bytes_.size() - decoder.reader_.offset(), kMostBytes)),
        ip(decoder.walker_.ip),
        last_ip(decoder.last_ip_.ip()),
        enabled(decoder.walker_.enabled),
        worth_learning(decoder.config_.trial_bytes) {}

  // A byte has at most eight outcomes.
  static constexpr std::size_t kMostBytes = StepGraph::kMostAtOnce / 8;

  std::optional<JudgingPen> judging;  // with Want::passages
  // With Want::transfers and Want::exact_transfers.
  std::optional<TransferPen<false>> leaving_out;
  std::optional<TransferPen<true>> leaving_out_exactly;
  PathMemo& memo;
  StepGraph& graph;
  Output& out;
  ReturnStack& returns;
  const std::uint64_t time;
  const isa::Mode mode;
  const std::uint8_t* at;
  const std::uint8_t* const end;
  std::uint64_t ip;     // of no account while there is a link
  Link link = kNoLink;  // the step here; kNoLink: nobody has looked
  std::uint64_t last_ip;
  bool enabled;
  bool stepped = false;
  const std::size_t worth_learning;  // bytes that links have to be known for
  std::uint64_t outcomes = kNoOutcomes;
  const std::uint8_t* tnt_at = nullptr;  // the last TNT
  LongPacketCounts counts;

  // Outcomes that are still to be taken; the next one is the highest bit.
  struct Row {
    explicit Row(std::uint64_t bits) : left(outcomes_left(bits)), outcomes(bits << (64 - left)) {}
    bool next() const { return outcomes >> 63 != 0; }
    // The same as a number: compilers keep it in one register.
    std::uint32_t next_bit() const { return static_cast<std::uint32_t>(outcomes >> 63); }
    void drop(unsigned count) {
      outcomes <<= count;
      left -= count;
    }
    unsigned left;
    std::uint64_t outcomes;
  };

  template <Want kWant>
  using LeavingPen = TransferPen<kExact<kWant>>;
  // What is left out of a row of outcomes, or passes, by the pen that has such.
  struct NoRow {};
  template <Want kWant>
  using LeftOutOf =
      std::conditional_t<kLeavesOut<kWant>, typename LeavingPen<kWant>::Row,
                         std::conditional_t<kWant == Want::passages, JudgingPen::Row, NoRow>>;
  template <Want kWant>
  using OtherPen = std::conditional_t<kWant == Want::passages, JudgingPen, LeavingPen<kWant>>;
  template <Want kWant>
  using WritingPen = std::conditional_t<kWant == Want::branches, StepPen, OtherPen<kWant>>;
  template <Want kWant>
  using PenFor = std::conditional_t<kWrites<kWant>, WritingPen<kWant>, NoPen>;

  template <Want kWant>
  decltype(auto) pen() {
    if constexpr (kWant == Want::passages) {
      return static_cast<JudgingPen&>(*judging);
    } else if constexpr (kSums<kWant>) {
      return static_cast<TransferPen<false>&>(*leaving_out);
    } else if constexpr (kExact<kWant>) {
      return static_cast<TransferPen<true>&>(*leaving_out_exactly);
    } else {
      return PenFor<kWant>(graph, out, time);
    }
  }

  template <Want kWant>
  Supersteps& supersteps_for() {
    return kCounts<kWant> ? graph.supersteps() : graph.summed_supersteps();
  }

  template <Want kWant>
  void run();
  template <Want kWant>
  bool step();
  template <Want kWant>
  bool step_tnt();
  template <Want kWant>
  bool step_tip();
  template <Want kWant>
  bool step_begin();
  template <Want kWant>
  bool step_end();
  template <Want kWant>
  bool take(StepKind kind, std::uint64_t key);
  template <Want kWant>
  bool arrive();
  template <Want kWant>
  void leave();
  template <Want kWant>
  void stay(std::uint64_t here);

  bool leave_outcomes(const Row& row);
  template <class Pen>
  static bool takes_several(const Pen& pen) {
    if constexpr (std::is_same_v<Pen, TransferPen<false>>) return pen.takes_several();
    return true;
  }
  template <class Pen, class LeftOut>
  static void finish_row(Pen& pen, const Row& row, LeftOut& left_out) {
    if constexpr (std::is_same_v<Pen, JudgingPen>) {
      pen.finish(row.left, left_out);
    } else if constexpr (!std::is_same_v<LeftOut, NoRow>) {
      pen.finish(left_out);
    }
  }
  template <Want kWant>
  bool jump(Link& here, Row& row, LeftOutOf<kWant>& left_out);
  template <Want kWant>
  bool take_outcomes(std::uint64_t bits);
  template <Want kWant>
  Link take_return(Link here, const Row& row, PenFor<kWant>& pen, LeftOutOf<kWant>& left_out);
  template <Want kWant>
  [[gnu::always_inline]] void call(Tail& tail) {
    if constexpr (kLearns<kWant>) stretch.called(tail.calls);
    if (tail.calls != 1 || tail.link == kNoLink) [[unlikely]]
      return call_slowly(tail);
    returns.put(tail.returns, tail.link);
  }
  void call_slowly(Tail& tail);
  // A return; of a compressed one the address that it led to.
  template <Want kWant>
  [[gnu::always_inline]] void drop_return(std::optional<std::uint64_t> compressed) {
    if constexpr (kLearns<kWant>) stretch.returned(compressed);
    returns.drop();
  }

  // Stretches of packets (learning.cc). Null: none is known or to be learned here.
  template <Want kWant>
  LearnedStretches<kExact<kWant>>* stretches_for() {
    if constexpr (kLeavesOut<kWant>) {
      return pen<kWant>().follows_calls() ? graph.learned<kExact<kWant>>(worth_learning) : nullptr;
    } else {
      return nullptr;
    }
  }
  StretchLearner stretch;  // that is being learned
  // Many packets at once, if their bytes came before at this place; if they did but are not known,
  // they are learned.
  template <Want kWant>
  bool take_stretch(LearnedStretches<kExact<kWant>>& stretches);
  template <Want kWant>
  bool take_learned(LearnedStretches<kExact<kWant>>& stretches, KeptStretch<kExact<kWant>>& known);
  template <Want kWant>
  bool learn(LearnedStretches<kExact<kWant>>& stretches,
             const typename LearnedStretches<kExact<kWant>>::Found& found);
  // To where a stretch ends that begins here; false: it is of no use to learn that.
  template <Want kWant>
  bool follow_packets();
  void note_units(Learned<true>& learned);
  // To go back to.
  struct Place {
    const std::uint8_t* at = nullptr;
    Link link = kNoLink;
    std::uint64_t ip = 0;
    std::uint64_t last_ip = 0;
    LongPacketCounts counts;
    ReturnStack returns;
  };
  Place place() const { return {at, link, ip, last_ip, counts, returns}; }
  void go_back_to(const Place& place) {
    at = place.at;
    link = place.link;
    ip = place.ip;
    last_ip = place.last_ip;
    counts = place.counts;
    returns = place.returns;
    outcomes = kNoOutcomes;
  }
};

}  // namespace hodo::flow
