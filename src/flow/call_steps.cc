// What a judge said of the branches of steps (CallJudge), so that calls can be followed by them.
#include <algorithm>
#include <limits>
#include <utility>

#include "steps.h"

namespace hodo::flow {

// Where the calls of a row return to. A row with a call that opens none has to come.
void StepGraph::note_returns(Link link, std::uint32_t row) {
  const std::uint32_t number = number_of(link);
  const bool has_tail = details_[number].has_tail;
  std::vector<std::uint64_t> returns;
  if (has_tail) {
    const Tail& tail = steps_[number + 1].tail;
    if (tail.calls == 1) {
      returns.push_back(tail.returns);
    } else if (tail.calls > 1) {
      for (const Call& call : calls(tail)) returns.push_back(call.returns);
    }
  }
  std::size_t next = 0;
  Told& told = told_[row];
  for (std::uint32_t k = 0; k < told.branches; ++k) {
    const BranchKind kind = (*book_)[row + k].kind;
    if (kind != BranchKind::call && kind != BranchKind::icall) continue;
    if (next < returns.size()) told_[row + k].step.returns = returns[next];
    ++next;
  }
  if (next != returns.size()) told.ops = Told::kMustCome;
}

void StepGraph::forget_calls(std::uint64_t number) {
  settle_opened();
  forget_plain_steps();
  forget_learned();
  not_plain_.clear();
  asks_again_.clear();
  calls_judged_by_ = number;
  std::ranges::fill(targets_, CallTarget{});
  other_targets_.assign(kOtherTargets, {});
  for (Told& told : told_) {
    if (told.ops != Told::kMustCome) told.ops = Told::kUnasked;
  }
}

// Forgetting looks at every step; a byte of trace takes longer than that of one. Code that is made
// at run time may change the mappings at every few hundred bytes.
bool StepGraph::may_judge_calls(std::uint64_t number) {
  if (calls_judged_by_ == number) return true;
  const bool first = waits_for_ == 0;
  if (calls_judged_by_ != 0) forget_calls(0);
  if (std::exchange(waits_for_, number) != number) waited_ = 0;
  if (!first && waited_ < 2 * steps_.size()) return false;
  calls_judged_by_ = number;
  return true;
}

// Those that are no longer told one by one are as plain as others from now on.
void StepGraph::ask_about_singles(const CallJudge& judge) {
  for (const std::uint32_t callee : std::exchange(asks_again_, {})) {
    if (!is_single(callee) || judge.is_single(callee)) continue;
    singles_[callee] = kNotSingle;
    const auto found = not_plain_.extract(callee);
    if (found.empty()) continue;
    for (const std::uint32_t one : found.mapped()) {
      std::uint32_t& word = steps_[one >> 1].step.count[one & 1];
      if ((word & (leaving::kAll | leaving::kSleepingAll)) == 0) word = 0;
    }
  }
}

void StepGraph::forget_plain_steps() {
  for (std::size_t n = 1; n < steps_.size(); ++n) {
    if (!details_[n].has_tail) continue;
    for (std::uint32_t& word : steps_[n].step.count) {
      if ((word & (leaving::kAll | leaving::kSleepingAll)) != 0) word = 0;
    }
  }
}

// The first call that is to be counted, or the last that there was room for.
void StepGraph::note_opened(const Tail& tail, Link link) {
  if (tail.opened != 0) {
    opened_.push_back(number_of(link));
  } else {
    constexpr std::uint32_t kWrapped = 1 << 8;
    passed_.add(following::callee(plain_call(link).step.what), kWrapped);
  }
}

void StepGraph::settle_opened() {
  for (const std::uint32_t number : opened_) {
    const std::uint32_t times = std::exchange(steps_[number + 1].tail.opened, std::uint8_t{0});
    if (times == 0) continue;
    const PlainCall call = plain_call(link_to(number, Shape::calls));
    passed_.add(following::callee(call.step.what), times);
  }
  opened_.clear();
}

std::uint32_t StepGraph::call_word(const CallOp& op) {
  using enum CallOp::Kind;
  if (op.callee >= CallOp::kMostCallees) return static_cast<std::uint32_t>(other);
  if (op.callee >= functions_.size()) functions_.resize(op.callee + 1);
  if (passed_.size() < functions_.size()) passed_.make_room(2 * functions_.size());
  if (singles_.size() < functions_.size()) singles_.resize(2 * functions_.size());
  if (op.kind == call || op.kind == tail || op.kind == enters) {
    functions_[op.callee] = op.function;
    if (op.single != is_single(op.callee)) singles_[op.callee] = op.single ? 1 : kNotSingle;
  }
  return static_cast<std::uint32_t>(op.kind) | (op.stub ? following::kStub : 0) |
         (op.noted ? following::kNoted : 0) | op.callee << following::kCalleeShift;
}

std::uint16_t StepGraph::judge_calls(std::uint32_t row, const CallJudge& judge) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint16_t>::max();
  std::uint16_t ops = 0;
  std::uint64_t insns = 0;
  const std::uint32_t count = told_[row].branches;
  const auto must_come = [&] { return told_[row].ops = Told::kMustCome; };
  if (count > Told::kMostBranches) return must_come();
  for (std::uint32_t k = 0; k < count; ++k) {
    const Branch& written = (*book_)[row + k];
    const Branch branch = branch_of(written, 0, time_);
    insns += branch.insns;
    if (insns > kMost) return must_come();
    CallStep& step = told_[row + k].step;
    step.insns = static_cast<std::uint16_t>(insns);
    step.own = static_cast<std::uint16_t>(branch.insns);
    const bool open = branch.to == 0 && branch.kind != BranchKind::ret;
    step.what = open ? following::kByTarget : call_word(judge.op(branch));
    const CallOp::Kind kind = following::kind(step.what);
    if (!open && kind == CallOp::Kind::other) return must_come();
    if (open || kind != CallOp::Kind::stays) ops |= static_cast<std::uint16_t>(1u << k);
  }
  return told_[row].ops = ops;
}

std::uint32_t StepGraph::look_for_target(std::uint32_t row, std::uint64_t to,
                                         const CallJudge& judge) {
  const std::uint64_t hash = (to ^ std::uint64_t{row} << 40) * 0x9e3779b97f4a7c15u;
  CallTarget& other = other_targets_[static_cast<std::size_t>(hash >> 40) & (kOtherTargets - 1)];
  if (other.to != to || other.row != row) {
    const std::uint32_t last = row + told_[row].branches - 1;
    other = {to, row, call_word(judge.op(branch_of((*book_)[last], to, time_)))};
  }
  targets_[row] = other;
  return other.what;
}

}  // namespace hodo::flow
