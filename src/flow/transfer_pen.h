// Writes transfers (Transfers) where the decoder goes by steps and a sink leaves jumps out, and
// counts both: steps keep what the sink said in the place of counts.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "call_pen.h"
#include "learned.h"
#include "output.h"
#include "steps.h"
#include "summing_pen.h"

namespace hodo::flow {

// It follows calls where somebody judges branches. With kExact (BranchSink::wants_lines) it tells
// which of them are open, and notes which code ran and which branch was the last; else it sums up
// what ran on which path of calls.
template <bool kExact>
class TransferPen {
 public:
  // What is left out of a row of outcomes, in registers: at most as many as a packet has.
  struct Row {
    std::uint64_t sum = 0;      // of words of steps (leaving)
    std::uint32_t taken = 0;    // branches that are in no sum,
    std::uint32_t calls = 0;    // calls among them,
    std::uint32_t returns = 0;  // and returns
    // With kExact:
    std::uint64_t at_last = 0;  // `sum` up to the last branch
    Link last = kNoLink;        // its step; on_the_way(): the last one on the way there
    std::uint64_t before = 0;   // `sum` up to the branch before it
  };

  // All must outlive it. `judge` may be null.
  TransferPen(StepGraph& graph, Output& out, std::uint64_t time, const CallJudge* judge)
      : graph_(graph), out_(out), time_(time), call_pen_(graph, calls_of(out), judge) {
    take_up();
  }
  ~TransferPen() { put_down(); }
  TransferPen(const TransferPen&) = delete;
  TransferPen& operator=(const TransferPen&) = delete;

  // Between these somebody else may write.
  void put_down() {
    end_span();
    if constexpr (kExact) {
      if (call_pen_.judge() != nullptr) graph_.settle_singles(*call_pen_.judge());
    }
    TransferLog& log = out_.transfers();
    log.put(at_);
    log.left_out() = left_;
    put_down_last();
    out_.set_pending_insns(pending_);
    if (!leaves_out_) out_.tell_next();
    count_up();
  }
  void take_up() {
    TransferLog& log = out_.transfers();
    if (log.full()) out_.flush();
    out_.begin_row(time_);
    at_ = log.pen();
    limit_ = log.limit();
    left_ = log.left_out();
    pending_ = out_.pending_insns();
    leaves_out_ = out_.told_time() == time_ && may_leave_out_more();
    if constexpr (!kExact) call_pen_.take_up();
    last_ = kNoLink;
    told_ = false;
  }

  // `step` is that of `here`.
  [[gnu::always_inline]] void outcome(const Step& step, Link here, std::uint32_t taken, Row& row) {
    const std::uint32_t what = step.count[taken];
    if ((what & leaving::kAll) != 0 && leaves_out_) [[likely]] {
      row.sum += what;
      row.taken += taken;
      if constexpr (kExact) {
        row.before = taken != 0 ? row.at_last : row.before;
        row.last = taken != 0 ? here : row.last;
        row.at_last = taken != 0 ? row.sum : row.at_last;
      }
      return;
    }
    add(row);
    row = {};
    if ((what & leaving::kTold) != 0 && leaves_out_) [[likely]] {
      ++(taken != 0 ? taken_ : not_taken_);
      transfer(what, 0);
    } else {
      outcome_slowly(step, here, taken != 0);
    }
  }
  // Several outcomes, if all that is left out may be.
  bool takes_several() const { return leaves_out_; }
  [[gnu::always_inline]] static void outcomes(const Superstep& superstep, Row& row) {
    static_assert(!kExact);
    row.sum += std::uint64_t{superstep.used} << leaving::kOutcomesShift | superstep.count;
    row.taken += superstep.taken;
  }
  // Before the outcome of a step with calls on the way, of which `tail` is.
  [[gnu::always_inline]] void call(const Step& step, Tail& tail, Link here, bool taken, Row& row) {
    const std::uint32_t& what = step.count[taken ? 1 : 0];
    if ((what & leaving::kAll) == 0) {
      if (!may_wake(what)) return;
      rouse(here, taken);
      if ((what & leaving::kAll) == 0) return;
    }
    if constexpr (kExact) {
      if (call_pen_.deep()) [[unlikely]] {
        finish(std::exchange(row, {}));
        turn_over();
      }
    }
    if (!leaves_out_) return;
    if constexpr (kExact) {
      open_exactly(tail, here, row);
    } else {
      open(tail, here, what, row);
    }
  }
  [[gnu::always_inline]] void packet(const Step& step, Link here, Link /*to*/, std::uint64_t ip) {
    const std::uint32_t what = step.count[0];
    if ((what & leaving::kAll) != 0 && leaves_out_) return come_back(what, here, ip);
    if ((what & leaving::kTold) != 0 && leaves_out_) [[likely]] {
      ++out_.stats().branches[static_cast<std::size_t>(transfer(what, ip).end)];
    } else {
      packet_slowly(step, here, ip);
    }
  }
  // The same among the outcomes of a row.
  [[gnu::always_inline]] void packet(const Step& step, Link here, std::uint64_t ip, Row& row) {
    const std::uint32_t what = step.count[0];
    if ((what & leaving::kAll) != 0 && leaves_out_) [[likely]] {
      const std::uint64_t sum = row.sum + (what & ~leaving::kAll);
      if (close(ip, row.taken + leaving::jumps(sum) + 1, leaving::insns(sum))) {
        row.sum = sum;
        ++row.taken;
        ++row.returns;
        if constexpr (kExact) {
          row.before = row.at_last;
          row.at_last = sum;
          row.last = here;
          last_to_ = ip;
        }
        return;
      }
    }
    add(std::exchange(row, {}));
    packet(step, here, kNoLink, ip);
  }
  // What is left out of a row of outcomes.
  [[gnu::always_inline]] void add(const Row& row) {
    if (row.sum == 0) return;
    const std::uint32_t jumps = leaving::jumps(row.sum);
    const std::uint32_t insns = leaving::insns(row.sum);
    const bool says_last = kExact && row.taken != 0;
    const std::uint32_t before = says_last ? leaving::insns(row.at_last) : insns;
    if (kExact && row.taken != 0) {
      last_ = row.last;
      last_insns_ = before - leaving::insns(row.before) + (row.taken == 1 ? pending_ : 0);
    }
    if ((row.taken | jumps) != 0) {
      left_.branches += row.taken + jumps;
      left_.insns += pending_ + before;
      pending_ = insns - before;
    } else {
      pending_ += insns;
    }
    instructions_ += insns;
    jumps_ += jumps;
    calls_ += row.calls;
    returns_ += row.returns;
    const std::uint32_t taken = row.taken - row.calls - row.returns;
    taken_ += taken;
    not_taken_ += leaving::outcomes(row.sum) - taken;
  }
  // Behind a row of outcomes.
  [[gnu::always_inline]] void finish(const Row& row) {
    add(row);
    leaves_out_ = leaves_out_ && may_leave_out_more();
    if constexpr (!kExact) {
      if (call_pen_.full()) [[unlikely]]
        turn_over();
    }
  }

  // What is followed from here on is to be learned, until finish_learning(): nothing of it is told
  // before. False: it cannot be.
  bool begin_learning() {
    end_span();
    if (at_ >= limit_) turn_over();
    if (!leaves_out_) return false;
    count_up();
    before_ = {left_, pending_, last_, last_insns_, last_to_, told_, out_.stats()};
    left_ = {};
    pending_ = 0;
    last_ = kNoLink;
    told_ = false;
    learns_ = learnable_ = true;
    call_pen_.begin_learning();
    return true;
  }
  // Whether it is of use no more.
  bool has_given_up() const { return !learnable_; }
  // Whether it was learned: `out` has all that was put down. As if nothing had been since
  // begin_learning().
  bool finish_learning(Learned<kExact>& out) {
    learns_ = false;
    count_up();
    out.rest = {.left = left_,
                .pending = pending_,
                .last = last_,
                .last_insns = last_insns_,
                .last_to = last_to_,
                .told = told_};
    const std::uint64_t branches = counted_since(out.rest);
    const bool fits = learnable_ && leaves_out_ && branches >= kLeastLearned;
    const bool learned = call_pen_.finish_learning(left_, out.calls) && fits;
    if (out.calls.begun) out.rest.left = {};
    left_ = before_.left;
    pending_ = before_.pending;
    last_ = before_.last;
    last_insns_ = before_.last_insns;
    last_to_ = before_.last_to;
    told_ = before_.told;
    leaves_out_ = true;
    out_.stats() = before_.stats;
    return learned;
  }
  bool follows_calls() const { return call_pen_.judge() != nullptr; }
  // Where what is learned may begin. Not behind the call of a stub: where that leads would hang on
  // a call from before.
  bool stretch_may_begin() const { return leaves_out_ && !call_pen_.in_stub(); }
  // Puts down what was learned, if it is what would come here; stretch_may_begin() must hold.
  bool take(Learned<kExact, Kept>& learned) {
    if (!call_pen_.fits(learned.calls)) return false;
    if constexpr (kExact) tell_units(learned);
    const LearnedTransfers& rest = learned.rest;
    if (learned.calls.begun) {
      call_pen_.take(learned.calls, left_, pending_);
      left_ = {};
    } else {
      left_.branches += rest.left.branches;
      left_.insns += pending_ + rest.left.insns;
    }
    pending_ = rest.pending;
    last_ = rest.last;
    last_insns_ = rest.last_insns;
    last_to_ = rest.last_to;
    told_ = told_ || rest.told;
    Stats& stats = out_.stats();
    for (std::size_t i = 0; i < kBranchKinds; ++i) stats.branches[i] += rest.branches[i];
    stats.not_taken += rest.not_taken;
    stats.instructions += rest.instructions;
    leaves_out_ = may_leave_out_more();
    if (call_pen_.full()) [[unlikely]]
      turn_over();
    return true;
  }

 private:
  // Branches: what is told of the last one hangs on the one before.
  static constexpr std::uint64_t kLeastLearned = 2;

  void count_up() {
    Stats& stats = out_.stats();
    const auto count = [&stats](BranchKind kind, std::uint64_t& times) {
      stats.branches[static_cast<std::size_t>(kind)] += std::exchange(times, 0);
    };
    count(BranchKind::cond, taken_);
    count(BranchKind::jmp, jumps_);
    count(BranchKind::call, calls_);
    count(BranchKind::ret, returns_);
    stats.not_taken += std::exchange(not_taken_, 0);
    stats.instructions += std::exchange(instructions_, 0);
  }
  // Since begin_learning(); all taken branches.
  std::uint64_t counted_since(LearnedTransfers& out) const {
    const Stats& now = out_.stats();
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < kBranchKinds; ++i) {
      const std::uint64_t times = now.branches[i] - before_.stats.branches[i];
      out.branches[i] = static_cast<std::uint32_t>(times);
      all += times;
    }
    out.not_taken = static_cast<std::uint32_t>(now.not_taken - before_.stats.not_taken);
    out.instructions = static_cast<std::uint32_t>(now.instructions - before_.stats.instructions);
    return all;
  }
  void give_up_learning() {
    learnable_ = false;
    call_pen_.give_up();
  }
  // Code that has not run in this round.
  void tell_units(Learned<true, Kept>& learned) {
    if (std::exchange(learned.round, graph_.round()) == graph_.round()) return;
    for (const LearnedUnit& one : learned.units) {
      if (graph_.unit_runs_first(one.unit)) graph_.append_lines(one.step, out_.lines());
    }
  }

  // A transfer has room for four times as much.
  static constexpr std::uint64_t kMostLeftOut = std::uint64_t{1} << 30;
  bool may_leave_out_more() const {
    return (left_.insns | left_.branches | pending_) < kMostLeftOut;
  }

  using Following = std::conditional_t<kExact, CallPen, SummingPen>;
  static decltype(auto) calls_of(Output& out) {
    if constexpr (kExact) {
      return (out.calls());
    } else {
      return (out.call_sums());
    }
  }

  // Of the step's last branch on the way.
  static Link on_the_way_of(Link here) { return link_to(number_of(here), Shape::unknown); }

  // Whether somebody has to be asked, or the code has not run yet.
  static bool may_wake(std::uint32_t what) {
    return what == 0 || (kExact && (what & leaving::kSleeps) != 0);
  }
  [[gnu::noinline]] void rouse(Link here, bool taken) {
    const std::uint32_t& what = graph_.steps()[number_of(here)].step.count[taken ? 1 : 0];
    if (what == 0) graph_.ask(here, taken, *out_.leaves_out(), kExact, call_pen_.judge());
    if constexpr (kExact) {
      graph_.wake(here, taken);
      if (graph_.runs_first(here)) graph_.append_lines(here, out_.lines());
    }
  }

  // A plain call.
  [[gnu::always_inline]] void open_exactly(Tail& tail, Link here, Row& row) {
    const std::uint32_t insns = leaving::insns(row.sum);
    const std::uint64_t before = row.taken != 0 ? leaving::insns(row.at_last) : -pending_;
    call_pen_.open(here, tail.returns, left_.branches + row.taken + leaving::jumps(row.sum),
                   left_.insns + pending_ + insns, insns - before);
    graph_.opened(tail, here);
    row.sum += on_the_way::sum(tail.way);
    row.before = row.at_last;
    row.at_last = row.sum;
    ++row.taken;
    ++row.calls;
    row.last = on_the_way_of(here);
  }
  [[gnu::always_inline]] void open(const Tail& tail, Link here, std::uint32_t what, Row& row) {
    row.sum += summed_call::sum(what);
    call_pen_.open(here, tail, left_.insns + pending_ + leaving::insns(row.sum));
    ++row.taken;
    ++row.calls;
    row.sum -= what & summed_call::kUpToIt;  // outcome() adds the word
  }
  // A plain return behind so many branches, with it, and instructions.
  [[gnu::always_inline]] bool close(std::uint64_t to, std::uint32_t branches, std::uint32_t insns) {
    if constexpr (kExact) {
      return call_pen_.close(to, left_.branches + branches, left_.insns + pending_ + insns);
    } else {
      return call_pen_.close(to, left_.insns + pending_ + insns);
    }
  }

  // A plain return.
  void come_back(std::uint32_t what, Link here, std::uint64_t ip) {
    const std::uint32_t jumps = leaving::jumps(what & ~leaving::kAll);
    const std::uint32_t insns = what & leaving::kMostInsns;
    if (!close(ip, jumps + 1, insns)) {
      ++returns_;
      (void)transfer(leaving::kTold | graph_.shown(here).row, ip);
      return;
    }
    last_ = here;
    last_to_ = ip;
    last_insns_ = pending_ + insns;
    left_.branches += jumps + 1;
    left_.insns += pending_ + insns;
    pending_ = 0;
    instructions_ += insns;
    jumps_ += jumps;
    ++returns_;
  }

  void put_down_last() {
    if constexpr (kExact) {
      if (told_) out_.left_out_last({});
      if (last_ != kNoLink) out_.left_out_last(last_branch());
    }
  }
  Branch last_branch() const {
    const StepGraph::Shown& shown = graph_.shown(last_);
    Branch out{.from = shown.at,
               .to = shown.kind == BranchKind::cond ? shown.to : last_to_,
               .insns = shown.tail,
               .kind = shown.kind,
               .flags = shown.flags};
    std::size_t before = shown.edge_count;  // branches of the step
    if (shape_of(last_) == Shape::unknown) {
      out = graph_.edges(shown).back();
      --before;
    }
    if (before == 0) out.insns = saturate_insns(last_insns_);
    out.time = time_;
    return out;
  }

  const StepGraph::Told& transfer(std::uint32_t what, std::uint64_t to) {
    const std::uint32_t row = leaving::row(what);
    if (!call_pen_.follow(row, to, left_, pending_)) {
      if (learns_) {
        give_up_learning();
      } else {
        end_span();
        *at_++ = {.what = row,
                  .branches = static_cast<std::uint32_t>(left_.branches),
                  .insns = static_cast<std::uint32_t>(left_.insns + pending_),
                  .since = static_cast<std::uint32_t>(pending_),
                  .to = to};
      }
    }
    const StepGraph::Told& told = graph_.told(row);
    left_ = {};
    last_ = kNoLink;
    told_ = true;
    pending_ = told.tail;
    instructions_ += told.insns;
    jumps_ += told.jumps;
    calls_ += told.calls;
    leaves_out_ = (what & leaving::kNextComes) == 0;
    if (at_ >= limit_ || call_pen_.full()) [[unlikely]]
      turn_over();
    return told;
  }
  void end_span() {
    if (call_pen_.end_span(left_)) *at_++ = {.what = TransferBook::kSpan};
  }

  [[gnu::noinline]] void outcome_slowly(const Step& step, Link here, bool taken) {
    const std::uint32_t& what = step.count[taken ? 1 : 0];
    if (may_wake(what)) {
      rouse(here, taken);
      Row row;
      return outcome(step, here, taken ? 1 : 0, row), add(row);
    }
    write_on_the_way(here);
    const StepGraph::Shown& shown = graph_.shown(here);
    if (taken) return write({.from = shown.at, .to = shown.to, .kind = BranchKind::cond});
    ++not_taken_;
    if ((what & (leaving::kAll | leaving::kNextComes)) == leaving::kNextComes) leaves_out_ = false;
  }
  [[gnu::noinline]] void packet_slowly(const Step& step, Link here, std::uint64_t ip) {
    if (may_wake(step.count[0])) {
      rouse(here, false);
      return packet(step, here, kNoLink, ip);
    }
    write_on_the_way(here);
    const StepGraph::Shown& shown = graph_.shown(here);
    write({.from = shown.at, .to = ip, .kind = shown.kind, .flags = shown.flags});
  }
  void write_on_the_way(Link here) {
    const StepGraph::Shown& shown = graph_.shown(here);
    for (const Branch& edge : graph_.edges(shown)) {
      pending_ += edge.insns;
      instructions_ += edge.insns;
      write({.from = edge.from, .to = edge.to, .kind = edge.kind, .flags = edge.flags});
    }
    pending_ += shown.tail;
    instructions_ += shown.tail;
  }
  void write(Branch branch) {
    if (learns_) return give_up_learning();
    put_down();
    branch.time = time_;
    out_.branch(branch);
    out_.commit();
    take_up();
  }
  [[gnu::noinline]] void turn_over() {
    if (learns_) return give_up_learning();
    put_down();
    out_.flush();
    take_up();
  }

  StepGraph& graph_;
  Output& out_;
  const std::uint64_t time_;
  Following call_pen_;
  Transfer* at_ = nullptr;
  const Transfer* limit_ = nullptr;
  LeftOut left_;
  std::uint64_t pending_ = 0;  // instructions since the last branch, left out or not
  bool leaves_out_ = false;    // the next jump need not come
  std::uint64_t instructions_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t not_taken_ = 0;
  std::uint64_t jumps_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t returns_ = 0;
  Link last_ = kNoLink;  // of what was left out behind all that is told: the last branch's step,
  std::uint64_t last_insns_ = 0;  // and instructions since the branch before it,
  std::uint64_t last_to_ = 0;     // and where a return led
  bool told_ = false;             // something
  // Learning:
  bool learns_ = false;
  bool learnable_ = false;
  struct Before {
    LeftOut left;
    std::uint64_t pending = 0;
    Link last = kNoLink;
    std::uint64_t last_insns = 0;
    std::uint64_t last_to = 0;
    bool told = false;
    Stats stats;
  };
  Before before_;
};

}  // namespace hodo::flow
