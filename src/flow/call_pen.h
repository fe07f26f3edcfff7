// Follows calls by what a judge said of the branches (CallJudge), and writes what they come to as
// spans (CallSpan).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "call_log.h"
#include "learned.h"
#include "steps.h"
#include "transfer_log.h"

namespace hodo::flow {

class CallPen {
 public:
  // All must outlive it. `judge` may be null: nothing is followed.
  CallPen(StepGraph& graph, CallLog& log, const CallJudge* judge)
      : graph_(graph), log_(log), judge_(judge), bottom_(log.frames()), top_(bottom_) {}
  const CallJudge* judge() const { return judge_; }

  // A row of the book, behind what was left out, and instructions since the last branch. False, and
  // nothing is done: it has to come.
  [[gnu::always_inline]] bool follow(std::uint32_t row, std::uint64_t to, const LeftOut& left,
                                     std::uint64_t pending) {
    const StepGraph::Told& told = graph_.told(row);
    std::uint32_t ops = graph_.ops(row, judge_);
    if (ops == StepGraph::Told::kMustCome) return false;
    const Place at{.row = row,
                   .to = to,
                   .branches = span_.branches + static_cast<std::uint32_t>(left.branches),
                   .insns = span_.insns + static_cast<std::uint32_t>(left.insns + pending),
                   .pending = static_cast<std::uint32_t>(pending)};
    OpenedCall* top = top_;
    const std::uint32_t last_call = span_.last_call;
    for (; ops != 0; ops &= ops - 1) {
      if (apply(static_cast<std::uint32_t>(std::countr_zero(ops)), at, top)) continue;
      span_.last_call = last_call;
      return false;
    }
    top_ = top;
    if (!begun_) span_.first = row;
    begun_ = true;
    span_.branches = at.branches + told.branches;
    span_.insns = at.insns + told.insns - told.tail;
    span_.last = row;
    span_.since = at.pending;
    span_.to = to;
    return true;
  }
  // A plain call (StepGraph::ask), whose step begins behind so many branches and instructions that
  // are in no row, with `pending` of these since the last branch.
  [[gnu::always_inline]] void open(Link step, std::uint64_t returns, std::uint64_t branches,
                                   std::uint64_t insns, std::uint64_t pending) {
    if (!begun_) [[unlikely]]
      begin(step);
    last_opened_ = step;
    last_opened_at_ = span_.branches + static_cast<std::uint32_t>(branches);
    top_->returns = returns;
    top_->at = step;
    top_->callee = kOfStep;
    top_->branches = last_opened_at_;
    top_->insns = span_.insns + static_cast<std::uint32_t>(insns);
    top_->made_insns = static_cast<std::uint32_t>(pending);
    ++top_;
  }
  // A plain return, the last of so many branches and instructions that are in no row. False, and
  // nothing is done: it does not close the innermost call of the span.
  [[gnu::always_inline]] bool close(std::uint64_t to, std::uint64_t branches, std::uint64_t insns) {
    if (top_ == bottom_) return false;
    OpenedCall* call = top_ - 1;
    if (call->returns != to) {
      call = called_one(to);
      if (call == nullptr) return false;
    }
    span_.last_return = span_.branches + static_cast<std::uint32_t>(branches);
    const std::uint32_t end = span_.insns + static_cast<std::uint32_t>(insns);
    do {
      drop(--top_, span_.last_return, end);
    } while (top_ != call);
    return true;
  }
  // There may be no room for the calls of a row.
  bool deep() const {
    constexpr auto kOfRow = static_cast<std::ptrdiff_t>(StepGraph::Told::kMostBranches);
    return log_.limit() - top_ < kOfRow;
  }
  // It has to end before more is followed.
  bool full() const {
    return deep() || span_.insns >= kMostInsns ||
           log_.returned_in_span() >= CallLog::kMostReturned || log_.has_many_told();
  }
  // With what is left out behind it, which is in it then. True: there was one.
  bool end_span(LeftOut& left) {
    if (!begun_) return false;
    finish_span(left);
    left = {};
    log_.close(span_, top_);
    span_ = {};
    begun_ = false;
    last_opened_ = kNoLink;
    top_ = bottom_;
    return true;
  }

  // As far as it knows: whether the innermost call is of a stub that has not been left.
  bool in_stub() const { return top_ != bottom_ && top_[-1].is_stub(); }

  // Behind end_span(): what is followed from here on is to be learned, until finish_learning();
  // before, nobody may be told of it.
  void begin_learning() {
    graph_.take_passed(passed_before_);
    learner_.begin();
    singles_.clear();
  }
  // It cannot be: what follows is of no account.
  void give_up() {
    learner_.give_up();
    forget_span();
  }
  // Whether it could be learned, which is in `out` then; as if nothing had been followed. `left` is
  // behind the last row.
  bool finish_learning(const LeftOut& left, LearnedCalls<Made>& out) {
    learner_.end();
    if (learner_.learnable() && begun_) take_over(left, out);
    forget_span();
    graph_.take_passed(out.passed);
    for (const PassedCalls& some : passed_before_) graph_.passed().add(some.callee, some.count);
    passed_before_.clear();
    return learner_.learnable();
  }
  // Whether what was learned is what would follow here.
  bool fits(const LearnedCalls<Kept>& learned) const {
    if (static_cast<std::size_t>(log_.limit() - top_) < learned.opened.size()) return false;
    return fits_calls(learned, top_, bottom_, [this](std::uint32_t callee, const OpenedCall* top) {
      return jumps_on(callee, top) == Jump::fits;
    });
  }
  // Behind what was left out, and instructions since the last branch. It fits, and has begun.
  void take(const LearnedCalls<Kept>& learned, const LeftOut& left, std::uint64_t pending) {
    const std::uint32_t branches = span_.branches + static_cast<std::uint32_t>(left.branches);
    const std::uint32_t insns = span_.insns + static_cast<std::uint32_t>(left.insns + pending);
    const auto more = static_cast<std::uint32_t>(pending);  // before the first branch
    if (!std::exchange(begun_, true)) span_.first = learned.span.first;
    std::size_t noted = 0;
    const auto note_to = [&](std::size_t end) {
      while (noted < end) log_.note(learned.noted[noted++]);
    };
    auto single = learned.singles.begin();
    const auto tell_singles = [&](std::size_t returned) {
      for (; single != learned.singles.end() && single->returned == returned; ++single) {
        if (graph_.is_single(single->callee)) tell_learned(*single, branches, insns);
      }
    };
    for (std::size_t i = 0; i < learned.returned.size(); ++i) {
      tell_singles(i);
      const LearnedReturn& one = learned.returned[i];
      note_to(one.noted);
      ReturnedCall call = one.call;
      if (call.branches == 1) call.since += more;
      call.branches += branches;
      call.insns += insns;
      come_back(call);
    }
    tell_singles(learned.returned.size());
    note_to(learned.noted.size());
    for (const PassedCalls& some : learned.passed) graph_.passed().add(some.callee, some.count);
    for (const OpenedCall& one : learned.opened) {
      *top_ = one;
      if (one.made_branches == 0) top_->made_insns += more;
      top_->branches += branches;
      top_->insns += insns;
      top_->made_branches += branches;
      ++top_;
    }
    const CallSpan& span = learned.span;
    if (span.last_call != 0) span_.last_call = branches + span.last_call;
    if (span.last_return != 0) {
      span_.last_return = std::max(span_.last_return, branches + span.last_return);
    }
    if (span.last != 0) {
      span_.last = span.last;
      span_.since = span.since;
      span_.to = span.to;
    }
    span_.branches = branches + span.branches;
    span_.insns = insns + span.insns;
  }

 private:
  static constexpr std::uint32_t kMostInsns = std::uint32_t{1} << 30;
  // OpenedCall::callee of a plain call: `at` is the step, and numbers are those where that begins.
  // It is counted with the step.
  static constexpr std::uint32_t kOfStep = ~std::uint32_t{0};

  // What returns there below the functions that it jumped to, or noted. Null: not of the span, or
  // somebody else's.
  [[gnu::noinline]] OpenedCall* called_one(std::uint64_t to) {
    OpenedCall* const call = without_jumped_to(top_);
    if (call == bottom_) return nullptr;
    if (returns_of(call[-1]) != to) return nullptr;
    if (call[-1].is_noted()) log_.note(to);
    return call - 1;
  }
  template <class Call>
  Call* without_jumped_to(Call* call) const {
    while (call != bottom_ && call[-1].was_jumped_to()) --call;
    return call;
  }
  // From a call that was open before.
  [[gnu::noinline]] bool learn_return(const ReturnedCall& one, OpenedCall*& top) {
    learner_.come_back({.call = one,
                        .noted = static_cast<std::uint32_t>(log_.noted_in_span()),
                        .jumped = top != bottom_});
    while (top != bottom_) drop(--top, one.branches, one.insns);
    return true;
  }
  // A return that fits.
  void come_back(const ReturnedCall& by) {
    OpenedCall* call = without_jumped_to(top_);
    if (call == bottom_) return log_.returned(by);
    if (call[-1].is_noted()) log_.note(by.to);
    span_.last_return = by.branches;
    for (--call; top_ != call;) drop(--top_, by.branches, by.insns);
  }

  void forget_span() {
    span_ = {};
    begun_ = false;
    last_opened_ = kNoLink;
    top_ = bottom_;
    log_.forget_span();
  }
  void take_over(const LeftOut& left, LearnedCalls<Made>& out) {
    finish_span(left);
    out.begun = true;
    out.span = span_;
    learner_.hand_over(out);
    out.singles = singles_;
    out.noted.assign(log_.span_noted().begin(), log_.span_noted().end());
    out.opened.assign(bottom_, top_);
  }
  void finish_span(const LeftOut& left) {
    span_.branches += static_cast<std::uint32_t>(left.branches);
    span_.insns += static_cast<std::uint32_t>(left.insns);
    if (last_opened_ != kNoLink) {
      const std::uint32_t last = last_opened_at_ + graph_.plain_call(last_opened_).nth + 1;
      span_.last_call = std::max(span_.last_call, last);
    }
    for (OpenedCall* call = bottom_; call != top_; ++call) write_out(*call);
  }

  [[gnu::noinline]] void begin(Link step) {
    begun_ = true;
    span_.first = graph_.shown(step).row;
  }
  std::uint32_t callee_of(const OpenedCall& call) const {
    if (call.callee != kOfStep) return call.callee;
    return following::callee(graph_.plain_call(call.at).step.what);
  }
  // A call that ends behind so many branches and instructions of the span.
  [[gnu::always_inline]] void drop(const OpenedCall* call, std::uint32_t branches,
                                   std::uint32_t insns) {
    if (call->callee == kOfStep) return;
    graph_.passed().add(call->callee);
    if (graph_.is_single(call->callee)) [[unlikely]]
      tell(call, branches, insns);
  }
  [[gnu::noinline]] void tell(const OpenedCall* call, std::uint32_t branches, std::uint32_t insns) {
    if (call->is_stub()) return;
    const SingleCall one{.callee = call->callee,
                         .caller = caller_of(call),
                         .returned = static_cast<std::uint32_t>(
                             learner_.learns() ? learner_.returned() : log_.returned_in_span()),
                         .at = call->at,
                         .branches = call->branches,
                         .insns = call->insns,
                         .end_branches = branches,
                         .end_insns = insns};
    if (learner_.learns()) return singles_.push_back(one);
    log_.single(one);
    graph_.told_single(call->callee);
  }
  // SingleCall::caller of what is called by the innermost call before `call`.
  std::uint32_t caller_of(const OpenedCall* call) const {
    while (call != bottom_ && call[-1].is_stub()) --call;
    return call == bottom_ ? SingleCall::kOpenBefore : callee_of(call[-1]);
  }
  // Behind so many branches and instructions of the span.
  void tell_learned(SingleCall one, std::uint32_t branches, std::uint32_t insns) {
    if (one.caller == SingleCall::kOpenBefore) one.caller = caller_of(top_);
    one.returned = static_cast<std::uint32_t>(log_.returned_in_span());
    one.branches += branches;
    one.insns += insns;
    one.end_branches += branches;
    one.end_insns += insns;
    log_.single(one);
    graph_.told_single(one.callee);
  }
  // One that does not, as others are to read it.
  void write_out(OpenedCall& call) {
    if (call.callee != kOfStep) return;
    const StepGraph::PlainCall plain = graph_.plain_call(call.at);
    call.callee = callee_of(call);
    graph_.passed().take_off(call.callee);
    call.at = plain.at;
    call.made_branches = call.branches + plain.nth;
    call.branches = call.made_branches + 1;
    call.insns += plain.step.insns;
    call.made_insns = (plain.nth == 0 ? call.made_insns : 0) + plain.step.own - 1;
  }

  // Before a row.
  struct Place {
    std::uint32_t row;
    std::uint64_t to;
    std::uint32_t branches;
    std::uint32_t insns;
    std::uint32_t pending;
  };

  [[gnu::always_inline]] bool apply(std::uint32_t k, const Place& at, OpenedCall*& top) {
    const StepGraph::CallStep& step = graph_.told(at.row + k).step;
    std::uint32_t what = step.what;
    if ((what & following::kByTarget) != 0) what = graph_.call_target(at.row, at.to, *judge_);
    switch (following::kind(what)) {
      case CallOp::Kind::stays:
        return true;
      case CallOp::Kind::call:
        push(what, k, at, step, step.returns, top);
        return true;
      case CallOp::Kind::ret:
        return returned(k, at, step, top);
      case CallOp::Kind::tail:
        if (!may_jump_to(following::callee(what), top)) return false;
        push(what, k, at, step, 0, top);
        return true;
      case CallOp::Kind::enters:
        if (top == bottom_ || !top[-1].is_stub()) return false;
        top[-1].returns ^= OpenedCall::kStub;
        top[-1].callee = following::callee(what);
        top[-1].branches = span_.last_call = at.branches + k + 1;
        top[-1].insns = at.insns + step.insns;
        return true;
      case CallOp::Kind::other:
        return false;
    }
    return false;
  }

  [[gnu::always_inline]] void push(std::uint32_t what, std::uint32_t k, const Place& at,
                                   const StepGraph::CallStep& step, std::uint64_t returns,
                                   OpenedCall*& top) {
    const bool stub = (what & following::kStub) != 0;
    const bool noted = (what & following::kNoted) != 0;
    top->returns = returns ^ (stub ? OpenedCall::kStub : 0) ^ (noted ? OpenedCall::kNoted : 0);
    top->at = at.row + k;
    top->callee = following::callee(what);
    top->branches = at.branches + k + 1;
    top->insns = at.insns + step.insns;
    top->made_branches = at.branches + k;
    top->made_insns = since(k, at, step);
    ++top;
    if (!stub) span_.last_call = at.branches + k + 1;
  }
  static std::uint32_t since(std::uint32_t k, const Place& at, const StepGraph::CallStep& step) {
    return (k == 0 ? at.pending : 0) + step.own - 1;
  }

  [[gnu::always_inline]] bool returned(std::uint32_t k, const Place& at,
                                       const StepGraph::CallStep& step, OpenedCall*& top) {
    OpenedCall* call = without_jumped_to(top);
    if (call == bottom_) {
      // What was jumped to is for those who know what is below.
      if (call != top && !learner_.learns()) return false;
      const ReturnedCall one{.to = at.to,
                             .at = at.row + k,
                             .branches = at.branches + k + 1,
                             .insns = at.insns + step.insns,
                             .since = since(k, at, step)};
      if (learner_.learns()) [[unlikely]]
        return learn_return(one, top);
      log_.returned(one);
      return true;
    }
    if (returns_of(call[-1]) != at.to) return false;
    if (call[-1].is_noted()) log_.note(at.to);
    span_.last_return = at.branches + k + 1;
    for (--call; top != call;) drop(--top, span_.last_return, at.insns + step.insns);
    return true;
  }

  Jump jumps_on(std::uint32_t callee, const OpenedCall* top) const {
    return jump_to(graph_.function_of(callee), top, bottom_,
                   [this](const OpenedCall& call) { return graph_.function_of(callee_of(call)); });
  }
  bool may_jump_to(std::uint32_t callee, const OpenedCall* top) {
    return learner_.may_jump(jumps_on(callee, top), callee);
  }

  StepGraph& graph_;
  CallLog& log_;
  const CallJudge* const judge_;
  OpenedCall* const bottom_;
  OpenedCall* top_;  // behind the innermost call that the span has opened
  CallSpan span_;    // without what is left out behind the last row
  bool begun_ = false;
  Link last_opened_ = kNoLink;  // the last plain call's step
  std::uint32_t last_opened_at_ = 0;
  CallLearner learner_;
  std::vector<SingleCall> singles_;
  std::vector<PassedCalls> passed_before_;  // learning began
};

}  // namespace hodo::flow
