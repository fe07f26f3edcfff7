// Follows calls by what a judge said of the branches (CallJudge), and writes what they come to as
// spans (CallSpan).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "call_log.h"
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
    span_.branches += static_cast<std::uint32_t>(left.branches);
    span_.insns += static_cast<std::uint32_t>(left.insns);
    left = {};
    if (last_opened_ != kNoLink) {
      const std::uint32_t last = last_opened_at_ + graph_.plain_call(last_opened_).nth + 1;
      span_.last_call = std::max(span_.last_call, last);
    }
    for (OpenedCall* call = bottom_; call != top_; ++call) write_out(*call);
    log_.close(span_, top_);
    span_ = {};
    begun_ = false;
    last_opened_ = kNoLink;
    top_ = bottom_;
    return true;
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
    const bool noted = call[-1].is_noted();
    if ((call[-1].returns ^ (noted ? OpenedCall::kNoted : 0)) != to) return nullptr;
    if (noted) log_.note(to);
    return call - 1;
  }
  OpenedCall* without_jumped_to(OpenedCall* call) const {
    while (call != bottom_ && call[-1].was_jumped_to()) --call;
    return call;
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
    const OpenedCall* around = call;
    while (around != bottom_ && around[-1].is_stub()) --around;
    log_.single({.callee = call->callee,
                 .caller = around == bottom_ ? SingleCall::kOpenBefore : callee_of(around[-1]),
                 .returned = static_cast<std::uint32_t>(log_.returned_in_span()),
                 .at = call->at,
                 .branches = call->branches,
                 .insns = call->insns,
                 .end_branches = branches,
                 .end_insns = insns});
    graph_.told_single(call->callee);
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
      if (call != top) return false;
      log_.returned({.to = at.to,
                     .at = at.row + k,
                     .branches = at.branches + k + 1,
                     .insns = at.insns + step.insns,
                     .since = since(k, at, step)});
      return true;
    }
    const bool noted = call[-1].is_noted();
    if ((call[-1].returns ^ (noted ? OpenedCall::kNoted : 0)) != at.to) return false;
    if (noted) log_.note(at.to);
    span_.last_return = at.branches + k + 1;
    for (--call; top != call;) drop(--top, span_.last_return, at.insns + step.insns);
    return true;
  }

  bool may_jump_to(std::uint32_t callee, const OpenedCall* top) const {
    const std::uint32_t function = graph_.function_of(callee);
    for (const OpenedCall* call = top; call != bottom_; --call) {
      if (call[-1].is_stub() || graph_.function_of(callee_of(call[-1])) == function) return false;
      if (!call[-1].was_jumped_to()) return true;
    }
    return false;
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
};

}  // namespace hodo::flow
