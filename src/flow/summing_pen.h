// Follows calls by what a judge said of the branches, as CallPen does, but only sums up what ran on
// which path of calls (SummedSpan).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "call_sums.h"
#include "learned.h"
#include "steps.h"
#include "transfer_log.h"

namespace hodo::flow {

class SummingPen {
 public:
  // All must outlive it. `judge` may be null: nothing is followed.
  SummingPen(StepGraph& graph, CallSums& sums, const CallJudge* judge)
      : graph_(graph), sums_(sums), judge_(judge), bottom_(sums.frames()), top_(bottom_) {
    take_up();
  }
  // Somebody else may have ended spans before.
  void take_up() { paths_ = sums_.span_paths(); }
  const CallJudge* judge() const { return judge_; }

  // A row of the book, behind what was left out, and instructions since the last branch. False, and
  // nothing is done: it has to come.
  [[gnu::always_inline]] bool follow(std::uint32_t row, std::uint64_t to, const LeftOut& left,
                                     std::uint64_t pending) {
    const StepGraph::Told& told = graph_.told(row);
    std::uint32_t ops = graph_.ops(row, judge_);
    if (ops == StepGraph::Told::kMustCome) return false;
    const Place at{row, to, insns_ + static_cast<std::uint32_t>(left.insns + pending)};
    if ((ops & (ops - 1)) != 0) [[unlikely]] {
      if (!apply_all(ops, at)) return false;
    } else if (ops != 0) {
      const auto k = static_cast<std::uint32_t>(std::countr_zero(ops));
      const std::uint32_t what = what_of(k, at);
      if (!fits(what, at.to, top_)) return false;
      apply(what, k, at);
    }
    if (!begun_) [[unlikely]]
      begin(row, at.insns);
    insns_ = at.insns + told.insns - told.tail;
    return true;
  }
  // A plain call (StepGraph::ask) of a step, with the instructions up to it that are in no row.
  [[gnu::always_inline]] void open(Link step, const Tail& tail, std::uint64_t insns) {
    if (!begun_) [[unlikely]]
      begin(step, insns);
    count_to(insns_ + static_cast<std::uint32_t>(insns));
    const std::uint32_t what = summed_call::callee(tail);
    const std::uint32_t callee = what & summed_call::kCallee;
    const std::uint64_t noted = std::uint64_t{what >> summed_call::kNotedShift} << kNotedBit;
    *top_++ = {
        .returns = tail.returns ^ noted, .at = step | kOfStep, .callee = callee, .path = here_};
    enter(callee);
  }
  // A plain return, with instructions up to it that are in no row. False, and nothing is done: it
  // does not close the innermost call of the span.
  [[gnu::always_inline]] bool close(std::uint64_t to, std::uint64_t insns) {
    if (top_ == bottom_) return false;
    if (top_[-1].returns != to) {
      if (!fits_return(to, top_)) return false;
      top_ = without_jumped_to(top_);
      if (top_[-1].is_noted()) sums_.note(to);
    }
    count_to(insns_ + static_cast<std::uint32_t>(insns));
    here_ = (--top_)->path;
    return true;
  }
  // It has to end before more is followed than a packet of outcomes and a row.
  bool full() const {
    constexpr auto kRoom = static_cast<std::ptrdiff_t>(CallSums::kAtOnce);
    return sums_.limit() - top_ < kRoom || sums_.full() || insns_ >= kMostInsns;
  }
  // With what is left out behind it, which is in it then. True: there was one.
  bool end_span(LeftOut& left) {
    if (!begun_) return false;
    count_to(insns_ + static_cast<std::uint32_t>(left.insns));
    left = {};
    for (LeftOpen* call = bottom_; call != top_; ++call) {
      call->path = call + 1 == top_ ? here_ : call[1].path;
      settle(*call);
    }
    sums_.close({.insns = first_insns_, .first = first_}, top_);
    start_span();
    return true;
  }

  // As far as it knows: whether the innermost call is of a stub that has not been left.
  bool in_stub() const { return top_ != bottom_ && top_[-1].is_stub(); }

  // As CallPen's.
  void begin_learning() { learner_.begin(); }
  void give_up() {
    learner_.give_up();
    forget_span();
  }
  bool finish_learning(const LeftOut& left, LearnedSums<Made>& out) {
    learner_.end();
    if (learner_.learnable() && begun_) take_over(left, out);
    forget_span();
    return learner_.learnable() && out.paths.size() < CallSums::kAtOnce;
  }
  bool fits(const LearnedSums<Kept>& learned) const {
    if (static_cast<std::size_t>(sums_.limit() - top_) < learned.open.size()) return false;
    return fits_calls(learned, top_, bottom_, [this](std::uint32_t callee, const LeftOpen* top) {
      return jumps_on(callee, top) == Jump::fits;
    });
  }
  void take(const LearnedSums<Kept>& learned, const LeftOut& left, std::uint64_t pending) {
    count_to(insns_ + static_cast<std::uint32_t>(left.insns + pending));
    if (!std::exchange(begun_, true)) {
      first_ = learned.first;
      first_insns_ = counted_ + learned.first_insns;
    }
    std::size_t noted = 0;
    const auto note_to = [&](std::size_t end) {
      while (noted < end) sums_.note(learned.noted[noted++]);
    };
    auto returned = learned.returned.begin();
    path_of_.clear();
    for (const CalledPath& path : learned.paths) {
      if (path.callee != CalledPath::kOpenBefore) {
        here_ = sums_.child(path_of_[path.parent], path.callee);
      } else if (!path_of_.empty()) {
        note_to(returned->noted);
        come_back(returned->call.to, returned->call.at);
        ++returned;
      }
      path_of_.push_back(here_);
      paths_[here_].calls += path.calls;
      paths_[here_].insns += path.insns;
    }
    note_to(learned.noted.size());
    for (const LeftOpen& one : learned.open) {
      *top_ = one;
      top_->path = path_of_[one.path];
      ++top_;
    }
    here_ = path_of_[learned.here];
    insns_ = counted_ = counted_ + learned.insns;
  }

 private:
  static constexpr std::uint32_t kMostInsns = std::uint32_t{1} << 30;
  // LeftOpen::at of a plain call: the rest is its step.
  static constexpr std::uint32_t kOfStep = std::uint32_t{1} << 31;
  static constexpr unsigned kNotedBit = std::countr_zero(OpenedCall::kNoted);
  static constexpr std::size_t kMostOutcomes = 64;  // of a packet
  static_assert(StepGraph::Told::kMostBranches + kMostOutcomes <= CallSums::kAtOnce);

  void start_span() {
    insns_ = counted_ = here_ = 0;
    begun_ = false;
    top_ = bottom_;
    take_up();
  }
  void forget_span() {
    sums_.forget_span();
    start_span();
  }
  void take_over(const LeftOut& left, LearnedSums<Made>& out) {
    count_to(insns_ + static_cast<std::uint32_t>(left.insns));
    out.begun = true;
    out.insns = counted_;
    out.first_insns = first_insns_;
    out.first = first_;
    learner_.hand_over(out);
    out.noted.assign(sums_.span_noted().begin(), sums_.span_noted().end());
    out.paths.assign(sums_.paths_in_span().begin(), sums_.paths_in_span().end());
    out.open.assign(bottom_, top_);
    for (LeftOpen& call : out.open) settle(call);
    out.here = here_;
  }
  // Whose row only its step says.
  void settle(LeftOpen& call) const {
    if ((call.at & kOfStep) != 0) call.at = graph_.plain_call(call.at & ~kOfStep).at;
  }

  // A row, and the instructions of the span before it.
  struct Place {
    std::uint32_t row;
    std::uint64_t to;
    std::uint32_t insns;
  };

  [[gnu::noinline]] void begin(std::uint32_t row, std::uint32_t before) {
    begun_ = true;
    first_ = row;
    first_insns_ = before + (*graph_.book())[row].insns;
  }
  // At its call, whose row may begin with a jump.
  [[gnu::noinline]] void begin(Link step, std::uint64_t insns) {
    const StepGraph::PlainCall call = graph_.plain_call(step);
    begin(call.at - call.nth, static_cast<std::uint32_t>(insns) - call.step.insns);
  }
  void count_to(std::uint32_t insns) {
    paths_[here_].insns += insns - counted_;
    counted_ = insns;
  }
  void enter(std::uint32_t callee) {
    here_ = sums_.child(here_, callee);
    ++paths_[here_].calls;
  }
  std::uint32_t what_of(std::uint32_t k, const Place& at) {
    const std::uint32_t what = graph_.told(at.row + k).step.what;
    if ((what & following::kByTarget) == 0) return what;
    return graph_.call_target(at.row, at.to, *judge_);
  }

  // Whether it is known what this does where the open calls end at `top`.
  bool fits(std::uint32_t what, std::uint64_t to, const LeftOpen* top) {
    switch (following::kind(what)) {
      case CallOp::Kind::stays:
      case CallOp::Kind::call:
        return true;
      case CallOp::Kind::ret:
        return fits_return(to, top) || (learner_.learns() && without_jumped_to(top) == bottom_);
      case CallOp::Kind::tail:
        return may_jump_to(following::callee(what), top);
      case CallOp::Kind::enters:
        return top != bottom_ && top[-1].is_stub();
      case CallOp::Kind::other:
        return false;
    }
    return false;
  }
  void apply(std::uint32_t what, std::uint32_t k, const Place& at) {
    const StepGraph::CallStep& step = graph_.told(at.row + k).step;
    const CallOp::Kind kind = following::kind(what);
    if (kind == CallOp::Kind::stays) return;
    count_to(at.insns + step.insns);
    if (kind == CallOp::Kind::ret) return come_back(at.to, at.row + k);
    if (kind == CallOp::Kind::enters) {
      top_[-1].returns ^= OpenedCall::kStub;
      top_[-1].callee = following::callee(what);
      return enter(following::callee(what));
    }
    *top_++ = call_of(what, k, at, here_);
    if ((what & following::kStub) == 0) enter(following::callee(what));
  }
  LeftOpen call_of(std::uint32_t what, std::uint32_t k, const Place& at, std::uint32_t path) const {
    const bool calls = following::kind(what) == CallOp::Kind::call;
    const std::uint64_t returns = calls ? graph_.told(at.row + k).step.returns : 0;
    return {.returns = returns ^ ((what & following::kStub) != 0 ? OpenedCall::kStub : 0) ^
                       ((what & following::kNoted) != 0 ? OpenedCall::kNoted : 0),
            .at = at.row + k,
            .callee = following::callee(what),
            .path = path};
  }
  // By a branch of the book.
  void come_back(std::uint64_t to, std::uint32_t at) {
    const LeftOpen* const before = top_;
    top_ = without_jumped_to(top_);
    if (top_ == bottom_) {
      here_ = sums_.returned(to, at);
      if (learner_.learns()) learn_return(to, at, before != top_);
    } else {
      if (top_[-1].is_noted()) sums_.note(to);
      here_ = (--top_)->path;
    }
  }
  [[gnu::noinline]] void learn_return(std::uint64_t to, std::uint32_t at, bool jumped) {
    learner_.come_back({.call = {.to = to, .at = at},
                        .noted = static_cast<std::uint32_t>(sums_.noted_in_span()),
                        .jumped = jumped});
  }
  // All of a row, or nothing.
  [[gnu::noinline]] bool apply_all(std::uint32_t ops, const Place& at) {
    LeftOpen* top = top_;
    for (std::uint32_t left = ops; left != 0; left &= left - 1) {
      const auto k = static_cast<std::uint32_t>(std::countr_zero(left));
      const std::uint32_t what = what_of(k, at);
      if (!fits(what, at.to, top)) return false;
      const CallOp::Kind kind = following::kind(what);
      if (kind == CallOp::Kind::call || kind == CallOp::Kind::tail) {
        *top++ = call_of(what, k, at, here_);
      }
    }
    for (; ops != 0; ops &= ops - 1) {
      const auto k = static_cast<std::uint32_t>(std::countr_zero(ops));
      apply(what_of(k, at), k, at);
    }
    return true;
  }

  template <class Call>
  Call* without_jumped_to(Call* top) const {
    while (top != bottom_ && top[-1].was_jumped_to()) --top;
    return top;
  }
  bool fits_return(std::uint64_t to, const LeftOpen* top) const {
    const LeftOpen* const call = without_jumped_to(top);
    // What was jumped to is for those who know what is below.
    if (call == bottom_) return top == bottom_;
    return returns_of(call[-1]) == to;
  }
  Jump jumps_on(std::uint32_t callee, const LeftOpen* top) const {
    return jump_to(graph_.function_of(callee), top, bottom_,
                   [this](const LeftOpen& call) { return graph_.function_of(call.callee); });
  }
  bool may_jump_to(std::uint32_t callee, const LeftOpen* top) {
    return learner_.may_jump(jumps_on(callee, top), callee);
  }

  StepGraph& graph_;
  CallSums& sums_;
  CalledPath* paths_ = nullptr;  // of the span
  const CallJudge* const judge_;
  LeftOpen* const bottom_;
  LeftOpen* top_;              // behind the innermost call that the span has opened
  std::uint32_t here_ = 0;     // the path where it is
  std::uint32_t insns_ = 0;    // up to the last row's last branch,
  std::uint32_t counted_ = 0;  // and those that are counted for a path
  bool begun_ = false;
  std::uint32_t first_ = 0;  // as SummedSpan has it
  std::uint32_t first_insns_ = 0;
  CallLearner learner_;
  std::vector<std::uint32_t> path_of_;  // of what was learned, by its number
};

}  // namespace hodo::flow
