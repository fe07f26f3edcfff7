// Follows calls by what a judge said of the branches (CallJudge), and writes what they come to as
// spans (CallSpan).
#pragma once

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
      : graph_(graph), log_(log), judge_(judge), top_(log.frames()) {}

  // A row of the book, behind what was left out, and instructions since the last branch. False, and
  // nothing is done: it has to come.
  [[gnu::always_inline]] bool follow(std::uint32_t row, std::uint64_t to, const LeftOut& left,
                                     std::uint64_t pending) {
    const StepGraph::Told& told = graph_.told(row);
    std::uint32_t ops = told.ops;
    if (ops >= StepGraph::Told::kMustCome) [[unlikely]] {
      if (ops == StepGraph::Told::kMustCome || judge_ == nullptr) return false;
      ops = graph_.judge_calls(row, *judge_);
      if (ops == StepGraph::Told::kMustCome) return false;
    }
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
    if (span_.branches == 0) span_.first = row;
    span_.branches = at.branches + told.branches;
    span_.insns = at.insns + told.insns - told.tail;
    span_.last = row;
    span_.since = at.pending;
    span_.to = to;
    return true;
  }
  // It has to end before more is followed.
  bool full() const {
    constexpr auto kOfRow = static_cast<std::ptrdiff_t>(StepGraph::Told::kMostBranches);
    return log_.limit() - top_ < kOfRow || span_.insns >= kMostInsns ||
           log_.returned_in_span() >= CallLog::kMostReturned;
  }
  // True: there was one.
  bool end_span() {
    if (span_.branches == 0) return false;
    log_.close(span_, top_);
    span_ = {};
    top_ = log_.frames();
    return true;
  }

 private:
  static constexpr std::uint32_t kMostInsns = std::uint32_t{1} << 30;

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
        if (top == log_.frames() || !top[-1].is_stub()) return false;
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
    top->returns = returns ^ (stub ? OpenedCall::kStub : 0);
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
    OpenedCall* call = top;
    while (call != log_.frames() && call[-1].was_jumped_to()) --call;
    if (call == log_.frames()) {
      // What was jumped to is for those who know what is below.
      if (call != top) return false;
      log_.returned({.to = at.to,
                     .at = at.row + k,
                     .branches = at.branches + k + 1,
                     .insns = at.insns + step.insns,
                     .since = since(k, at, step)});
      return true;
    }
    if (call[-1].returns != at.to) return false;
    for (--call; top != call;) graph_.passed().add((--top)->callee);
    span_.last_return = at.branches + k + 1;
    return true;
  }

  bool may_jump_to(std::uint32_t callee, const OpenedCall* top) const {
    const std::uint32_t function = graph_.function_of(callee);
    for (const OpenedCall* call = top; call != log_.frames(); --call) {
      if (call[-1].is_stub() || graph_.function_of(call[-1].callee) == function) return false;
      if (!call[-1].was_jumped_to()) return true;
    }
    return false;
  }

  StepGraph& graph_;
  CallLog& log_;
  const CallJudge* const judge_;
  OpenedCall* top_;  // behind the innermost call that the span has opened
  CallSpan span_;
};

}  // namespace hodo::flow
