// Writes what a sink has judged as passages (Passages) where the decoder goes by steps, and the
// rest as branches, and counts both: steps keep what the sink said in the place of counts.
//
// Of what passes, a packet leaves 16 bytes behind: the step where it began and its outcomes. An
// outcome is an addition, a return four bytes more.
#pragma once

#include <cstdint>
#include <utility>

#include "output.h"
#include "passage_log.h"
#include "steps.h"

namespace hodo::flow {

class JudgingPen {
 public:
  // What passes of a row of outcomes, in registers.
  struct Row {
    std::uint64_t sum = 0;  // of words of steps (judging), and above it conditional branches taken
    std::uint32_t calls = 0;
    std::uint32_t returns = 0;

    std::uint32_t taken() const { return static_cast<std::uint32_t>(sum >> kTakenShift); }
    // `times` conditional branches that were taken are in what is added.
    void add(std::uint32_t addend, std::uint64_t times) { sum += addend | times << kTakenShift; }

   private:
    static constexpr unsigned kTakenShift = 40;
  };

  // As StepPen's, but lives longer than for a packet.
  JudgingPen(StepGraph& graph, Output& out, std::uint64_t time)
      : graph_(graph), out_(out), time_(time), limits_(out.passages().limits()) {
    take_up();
  }
  ~JudgingPen() { end_passage(); }
  JudgingPen(const JudgingPen&) = delete;
  JudgingPen& operator=(const JudgingPen&) = delete;

  // Between these somebody else may write.
  void end_passage() {
    put_down();
    out_.end_passage(time_, before_);
  }
  void take_up() {
    at_ = out_.passages().cursor();
    before_ = out_.pending_insns();
  }

  // A row of outcomes under their stop bit, of which so many are left.
  [[gnu::always_inline]] void begin(Link here, std::uint64_t outcomes, unsigned left) {
    begin_ = here;
    outcomes_ = outcomes;
    left_ = left;
    first_return_ = at_.returned;
  }
  // False, and nothing is done: judge_outcome() has to be called.
  [[gnu::always_inline]] static bool outcome(const Step& step, std::uint32_t taken, Row& row) {
    const std::uint32_t what = step.count[taken];
    if (!judging::passes(what)) [[unlikely]]
      return false;
    row.add(leaving::addend(what), taken);
    return true;
  }
  // Several outcomes that pass.
  [[gnu::always_inline]] static void outcomes(const Superstep& superstep, Row& row) {
    row.add(superstep.count, superstep.taken);
  }
  // Before the outcome of a step with calls on the way.
  [[gnu::always_inline]] void call(const Step& step, Link here, bool taken, Row& row) {
    const std::uint32_t& what = step.count[taken ? 1 : 0];
    if (!judging::is_asked(what)) [[unlikely]]
      graph_.judge(here, taken, *out_.judge());
    if (judging::passes(what)) open_calls(here, row);
  }
  // A compressed return, which is the next of the outcomes that are left, `left` with it.
  [[gnu::always_inline]] void come_back(const Step& step, Link here, Link to, std::uint64_t ip,
                                        unsigned left, Row& row) {
    if (may_go(step, to)) [[likely]] {
      if (pass_return(here, ip, row)) [[likely]] {
        pass_on_the_way(step.count[0], row);
        *at_.returned++ = to;
        return;
      }
    }
    judge_return(here, to, ip, left, row);
  }
  // The row ends, or what passes of it.
  [[gnu::always_inline]] void finish(unsigned left, Row& row) {
    const unsigned used = left_ - left;
    if (used == 0) return;
    const std::uint64_t stop = std::uint64_t{1} << used;
    const std::uint64_t outcomes = outcomes_ >> left & (stop - 1);
    const auto first = static_cast<std::uint32_t>(first_return_ - out_.passages().returns().data());
    *at_.entry++ = PassedRow{begin_, first, outcomes | stop}.packed();
    instructions_ += leaving::insns(row.sum);
    jumps_ += leaving::jumps(row.sum);
    taken_ += row.taken();
    not_taken_ += used - row.taken() - row.returns;
    calls_ += row.calls;
    returns_ += row.returns;
    if (limits_.reached(at_)) [[unlikely]]
      turn_over();
  }
  // Behind outcome(), of which `left` are left with it. Steps may move.
  [[gnu::noinline]] void judge_outcome(Link here, bool taken, unsigned left, Row& row) {
    // Of those with calls call() has asked.
    if (!judging::is_asked(*word(here, taken)) && shape_of(here) == Shape::outcome) {
      graph_.judge(here, taken, *out_.judge());
      if (outcome(graph_.steps()[number_of(here)].step, taken ? 1 : 0, row)) return;
    }
    const std::uint64_t outcomes = outcomes_;
    cut(left, row);
    write_on_the_way(here);
    const StepGraph::Shown& shown = graph_.shown(here);
    if (taken) {
      write({.from = shown.at, .to = shown.to, .kind = BranchKind::cond});
    } else {
      ++not_taken_;
    }
    Link to = graph_.steps()[number_of(here)].step.next[taken ? 1 : 0];
    if (to == kNoLink) to = graph_.resolve(here, taken);
    begin(to, outcomes, left - 1);
  }
  // A branch with a packet of its own, behind finish().
  void packet(const Step& step, Link here, Link to, std::uint64_t ip) {
    if (may_go(step, to)) [[likely]] {
      if (pass_packet(here, to, ip)) [[likely]]
        return;
    }
    judge_packet(here, to, ip);
  }

 private:
  const Tail& tail_of(Link here) const { return graph_.steps()[number_of(here) + 1].tail; }
  const std::uint32_t* word(Link here, bool taken) const {
    return &graph_.steps()[number_of(here)].step.count[taken ? 1 : 0];
  }
  // Whether a branch with a packet passes; a return, if it closes the call that was opened last.
  [[gnu::always_inline]] bool may_go(const Step& step, Link to) const {
    const std::uint32_t what = step.count[0];
    if (!judging::passes(what)) return false;
    const std::uint32_t there = graph_.steps()[number_of(to)].step.count[0];
    if ((what & judging::kReturnsApart) != 0 && (there & judging::kReturnedTo) != 0) return true;
    return graph_.is_known_to_pass(step, to);
  }
  static void pass_on_the_way(std::uint32_t what, Row& row) { row.add(leaving::addend(what), 0); }
  [[gnu::always_inline]] void open_calls(Link here, Row& row) {
    const Tail& tail = tail_of(here);
    row.calls += tail.calls;
    if (tail.calls == 1) [[likely]] {
      *at_.address++ = tail.returns;
      return;
    }
    for (const StepGraph::Call& call : graph_.calls(tail)) *at_.address++ = call.returns;
  }
  // With the calls on its way. False, and nothing is done: it does not close the call that was
  // opened last.
  [[gnu::always_inline]] bool pass_return(Link here, std::uint64_t ip, Row& row) {
    const Tail& tail = tail_of(here);
    if (tail.calls == 0) [[likely]] {
      if (!close(ip)) return false;
    } else if (!pass_calls_and_return(here, ip)) {
      return false;
    }
    row.calls += tail.calls;
    ++row.returns;
    return true;
  }
  [[gnu::always_inline]] bool close(std::uint64_t ip) {
    if (at_.address == at_.called) {
      *at_.address++ = ip;
      at_.called = at_.address;
      return true;
    }
    if (at_.address[-1] != ip) return false;
    --at_.address;
    return true;
  }
  [[gnu::noinline]] bool pass_calls_and_return(Link here, std::uint64_t ip) {
    const PassageLog::Cursor before = at_;
    Row row;
    open_calls(here, row);
    if (close(ip)) return true;
    at_ = before;
    return false;
  }
  bool pass_packet(Link here, Link to, std::uint64_t ip) {
    const Tail& tail = tail_of(here);
    Row row;
    if (tail.end == Tail::End::ret) {
      if (!pass_return(here, ip, row)) return false;
    } else if (tail.calls != 0) {
      open_calls(here, row);
    }
    pass_on_the_way(*word(here, false), row);
    instructions_ += leaving::insns(row.sum);
    jumps_ += leaving::jumps(row.sum);
    calls_ += row.calls;
    returns_ += row.returns;
    if (tail.end == Tail::End::call) {
      --calls_;
      ++indirect_calls_;
    } else if (tail.end != Tail::End::ret) {
      ++indirect_jumps_;
    }
    *at_.entry++ = PassedRow{here, to, 0}.packed();
    if (limits_.reached(at_)) [[unlikely]]
      turn_over();
    return true;
  }

  // Whether a branch with a packet passes, now that somebody is asked.
  bool may_pass(Link here, Link to) {
    const std::uint32_t& what = *word(here, false);
    if (!judging::is_asked(what)) graph_.judge(here, true, *out_.judge());
    return judging::passes(what) && graph_.passes(here, to, *out_.judge());
  }
  [[gnu::noinline]] void judge_return(Link here, Link to, std::uint64_t ip, unsigned left,
                                      Row& row) {
    if (may_pass(here, to) && pass_return(here, ip, row)) {
      pass_on_the_way(*word(here, false), row);
      *at_.returned++ = to;
      return;
    }
    const std::uint64_t outcomes = outcomes_;
    cut(left, row);
    write_with_packet(here, ip);
    begin(to, outcomes, left - 1);
  }
  [[gnu::noinline]] void judge_packet(Link here, Link to, std::uint64_t ip) {
    if (may_pass(here, to) && pass_packet(here, to, ip)) return;
    begin_anew();
    write_with_packet(here, ip);
  }
  // What passed is a passage, and branches may be written behind it.
  void cut(unsigned left, Row& row) {
    finish(left, row);
    row = {};
    begin_anew();
  }
  void begin_anew() {
    end_passage();
    take_up();
  }

  void write_with_packet(Link here, std::uint64_t ip) {
    write_on_the_way(here);
    const StepGraph::Shown& shown = graph_.shown(here);
    write({.from = shown.at, .to = ip, .kind = shown.kind, .flags = shown.flags});
  }
  void write_on_the_way(Link here) {
    const StepGraph::Shown& shown = graph_.shown(here);
    for (const Branch& edge : graph_.edges(shown)) {
      before_ += edge.insns;
      instructions_ += edge.insns;
      write({.from = edge.from, .to = edge.to, .kind = edge.kind, .flags = edge.flags});
    }
    before_ += shown.tail;
    instructions_ += shown.tail;
  }
  // With nothing in the open passage.
  void write(Branch branch) {
    out_.set_pending_insns(before_);
    branch.time = time_;
    out_.branch(branch);
    out_.commit();
    take_up();
  }
  [[gnu::noinline]] void turn_over() {
    end_passage();
    out_.flush();
    take_up();
  }

  void put_down() {
    const std::uint32_t branches =
        taken_ + jumps_ + calls_ + returns_ + indirect_calls_ + indirect_jumps_;
    PassageLog& log = out_.passages();
    log.put(at_, branches);
    out_.set_pending_insns(graph_.insns_behind(log.open_entries(), log.returns(), before_));
    Stats& stats = out_.stats();
    const auto count = [&stats](BranchKind kind, std::uint32_t& times) {
      stats.branches[static_cast<std::size_t>(kind)] += std::exchange(times, 0);
    };
    count(BranchKind::cond, taken_);
    count(BranchKind::jmp, jumps_);
    count(BranchKind::call, calls_);
    count(BranchKind::ret, returns_);
    count(BranchKind::icall, indirect_calls_);
    count(BranchKind::ijmp, indirect_jumps_);
    stats.not_taken += std::exchange(not_taken_, 0);
    stats.instructions += std::exchange(instructions_, 0);
  }

  StepGraph& graph_;
  Output& out_;
  const std::uint64_t time_;
  const PassageLog::Limits limits_;
  PassageLog::Cursor at_;
  std::uint64_t before_ = 0;  // instructions before the open passage, since the last branch
  // The row, from where it passes.
  Link begin_ = kNoLink;
  std::uint64_t outcomes_ = 0;
  unsigned left_ = 0;
  const Link* first_return_ = nullptr;
  std::uint64_t instructions_ = 0;
  std::uint32_t taken_ = 0;
  std::uint32_t not_taken_ = 0;
  std::uint32_t jumps_ = 0;
  std::uint32_t calls_ = 0;
  std::uint32_t returns_ = 0;
  std::uint32_t indirect_calls_ = 0;
  std::uint32_t indirect_jumps_ = 0;
};

}  // namespace hodo::flow
