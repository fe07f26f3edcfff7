#include "call_rules.h"

#include <algorithm>

namespace hodo::analyze {

void CallRules::open(const flow::TransferBook& book, std::uint32_t space) {
  if (here_ != nullptr && here_->space != space) forget(naming_);
  const auto known = std::ranges::find_if(
      books_, [&](const Book& one) { return one.number == book.number() && one.space == space; });
  if (known != books_.end()) {
    here_ = &*known;
    return;
  }
  if (books_.size() == kMostBooks) books_.pop_front();
  here_ = &books_.emplace_back(Book{.number = book.number(), .space = space, .rules = {}});
}

// Callees are of one address space and its present mappings.
void CallRules::forget(std::uint32_t naming) {
  naming_ = naming;
  ++asked_;
  callees_.clear();
  numbers_.clear();
  of_spans_.clear();
}

void CallRules::look_up_callee(std::uint32_t number, const CallSpans& spans) {
  if (number >= of_spans_.size()) of_spans_.resize(std::size_t{number} + number / 2 + 1);
  const CallJudging::Callee where = spans.callee(number);
  of_spans_[number] = where.by_call ? functions_.called(here_->space, where.entry, time_)
                                    : functions_.at(here_->space, where.entry, time_);
}

void CallRules::look_up(const flow::TransferBook& book, std::uint32_t at) {
  constexpr std::size_t kStep = 1 << 10;
  std::vector<CallRule>& rules = here_->rules;
  if (at >= rules.size()) rules.resize(std::max<std::size_t>(at + kStep, 2 * rules.size()));
  const Branch& branch = book[at];
  CallRule& rule = rules[at];
  rule = {.from = branch.from,
          .to = branch.to,
          .insns = branch.insns,
          .asked = asked_,
          .last = (branch.flags & flow::TransferBook::kLast) != 0,
          .open = branch.to == 0};
  if ((branch.flags & ~flow::TransferBook::kLast) != 0) return;
  using enum CallRule::Kind;
  switch (branch.kind) {
    case BranchKind::cond:
    case BranchKind::jmp:
      rule.kind = jump;
      return;
    case BranchKind::ijmp:
      rule.kind = ijump;
      return;
    case BranchKind::ret:
      rule.kind = ret;
      return;
    case BranchKind::call:
    case BranchKind::icall:
      rule.kind = call;
      if (branch.to != 0) lead(rule, branch.to);
      return;
    default:
      return;
  }
}

void CallRules::lead(CallRule& rule, std::uint64_t to) {
  const auto number = static_cast<std::uint32_t>(callees_.size());
  const auto [it, fresh] = numbers_.try_emplace(to, number);
  if (fresh) callees_.push_back(functions_.called(here_->space, to, time_));
  rule.to = to;
  rule.callee = it->second;
}

}  // namespace hodo::analyze
