// Writes what a sink has judged as passages (Passages) where the decoder goes by steps, and the
// rest as branches, and counts both: steps keep what the sink said in the place of counts.
#pragma once

#include <cstdint>
#include <utility>

#include "output.h"
#include "passage_log.h"
#include "steps.h"

namespace hodo::flow {

class JudgingPen {
 public:
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
    out_.end_passage(time_);
  }
  void take_up() {
    at_ = out_.passages().cursor();
    pending_ = out_.pending_insns();
  }

  [[gnu::always_inline]] void outcome(const Step& step, Link here, bool taken) {
    const std::uint32_t what = step.count[taken ? 1 : 0];
    if (may_pass(what)) [[likely]] {
      pass_outcome(what, here, taken);
    } else {
      judge_outcome(step, here, taken);
    }
  }
  // `ip` is that of `to`.
  [[gnu::always_inline]] void packet(const Step& step, Link here, Link to, std::uint64_t ip) {
    const bool known = may_pass(step.count[0]) && step.count[1] == to;
    if (known && pass_packet(step.count[0], here, to, ip)) [[likely]]
      return;
    judge_packet(step, here, to, ip);
  }

 private:
  bool may_pass(std::uint32_t what) const {
    return (what & judging::kPasses) != 0 && pending_ <= PassedStep::kMostInsns;
  }
  [[gnu::always_inline]] void pass_outcome(std::uint32_t what, Link here, bool taken) {
    *at_.entry = PassedStep::packed(here, taken ? 1 : 0, pending_);
    const bool branches = (what & judging::kBranches) != 0;
    at_.entry += branches ? 1 : 0;
    pending_ = (branches ? 0 : pending_) + judging::tail(what);
    pass_on_the_way(what);
    ++(taken ? taken_ : not_taken_);
    if ((what & judging::kCalls) != 0) [[unlikely]]
      open_calls(here);
    if (limits_.reached(at_)) [[unlikely]]
      turn_over();
  }
  void pass_on_the_way(std::uint32_t what) {
    instructions_ += judging::insns(what);
    jumps_ += judging::jumps(what);
  }
  void open_calls(Link here) {
    const Tail& tail = graph_.steps()[number_of(here) + 1].tail;
    calls_ += tail.calls;
    if (tail.calls == 1) {
      *at_.address++ = tail.returns;
      return;
    }
    for (const StepGraph::Call& call : graph_.calls(tail)) *at_.address++ = call.returns;
  }
  // False, and nothing is done: the return does not close the call that was opened last.
  bool pass_packet(std::uint32_t what, Link here, Link to, std::uint64_t ip) {
    const Tail& tail = graph_.steps()[number_of(here) + 1].tail;
    const PassageLog::Cursor before = at_;
    const std::uint32_t calls = calls_;
    if (tail.calls != 0) open_calls(here);
    if (tail.end == Tail::End::ret) {
      if (at_.address == at_.called) {
        *at_.address++ = ip;
        at_.called = at_.address;
      } else if (at_.address[-1] == ip) {
        --at_.address;
      } else {
        at_ = before;
        calls_ = calls;
        return false;
      }
      ++returns_;
    } else if (tail.end == Tail::End::call) {
      --calls_;
      ++indirect_calls_;
    } else {
      ++indirect_jumps_;
    }
    *at_.entry++ = PassedStep::packed(here, to, pending_);
    pending_ = 0;
    pass_on_the_way(what);
    if (limits_.reached(at_)) [[unlikely]]
      turn_over();
    return true;
  }

  [[gnu::noinline]] void judge_outcome(const Step& step, Link here, bool taken) {
    const std::uint32_t& what = step.count[taken ? 1 : 0];
    if ((what & (judging::kComes | judging::kPasses)) == 0)
      graph_.judge(here, taken, *out_.judge());
    if (may_pass(what)) return pass_outcome(what, here, taken);
    write_on_the_way(here);
    const StepGraph::Shown& shown = graph_.shown(here);
    if (taken) return write({.from = shown.at, .to = shown.to, .kind = BranchKind::cond});
    ++not_taken_;
  }
  [[gnu::noinline]] void judge_packet(const Step& step, Link here, Link to, std::uint64_t ip) {
    const std::uint32_t& what = step.count[0];
    if ((what & (judging::kComes | judging::kPasses)) == 0) graph_.judge(here, true, *out_.judge());
    const bool passes = may_pass(what) && graph_.passes(here, to, *out_.judge());
    if (passes && pass_packet(what, here, to, ip)) return;
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
    end_passage();
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
    out_.passages().put(at_, branches);
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
    out_.set_pending_insns(pending_);
  }

  StepGraph& graph_;
  Output& out_;
  const std::uint64_t time_;
  const PassageLog::Limits limits_;
  PassageLog::Cursor at_;
  std::uint64_t pending_ = 0;
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
