// Following a thread's calls by transfers (flow::Transfers): what call_stack.cc does, for branches
// of which it is known what they are.
#include <algorithm>
#include <utility>

#include "call_stack.h"

namespace hodo::analyze {

[[gnu::always_inline]] inline void CallStack::count_rule(std::uint32_t insns) {
  ++clock_.branches;
  clock_.instructions += insns;
  step_ = insns - (insns != 0 ? 1 : 0);
  paths_[frames_.back().node].instructions += insns;
}

[[gnu::always_inline]] inline bool CallStack::call_by_rule(CallRule& rule, CallRules& rules,
                                                           std::uint32_t insns, std::uint64_t to) {
  if (to == 0 || frames_.size() == kDeepest) return false;
  const Located& callee = rules.callee(rule, to);
  // call 1f; 1: pop %ebx
  if (callee.known() && !callee.entry) return false;
  count_rule(insns);
  push(callee, CallEntry::called, {rule.from, to, true});
  return true;
}

// As branch() would; false, and nothing is done: it is for that.
[[gnu::always_inline]] inline bool CallStack::follow_rule(CallRule& rule, CallRules& rules,
                                                          std::uint32_t insns, std::uint64_t to,
                                                          std::uint64_t time) {
  using enum CallRule::Kind;
  if (frames_.empty()) return false;
  const Frame& top = frames_.back();
  switch (rule.kind) {
    case jump:
      if (!has(top, rule.to)) return false;
      count_rule(insns);
      return true;
    case ijump:
      if (has(top, to)) {
        count_rule(insns);
        return true;
      }
      if (!top.function.stub || !has(top, rule.from) || to == 0) return false;
      count_rule(insns);
      enter_from_stub(rules.callee(rule, to), to);
      return true;
    case ret:
      if (top.how == CallEntry::jumped || !returns_behind(to, top.site)) return false;
      count_rule(insns);
      cut(frames_.size() - 1, CallEnd::returned);
      note_site(to, time);
      return true;
    case call:
      return call_by_rule(rule, rules, insns, rule.open ? to : rule.to);
    case other:
      return false;
  }
  return false;
}

void CallStack::transfers(std::uint32_t space, std::span<const flow::Transfer> row,
                          const flow::TransferBook& book, std::uint64_t time, std::uint64_t now,
                          CallRules& rules, CallSpans* spans) {
  constexpr std::size_t kAhead = 8;  // half as far ahead its callee
  rules.move_to(book, space, time);
  // What is left out, and what has a rule, belongs to where the thread was told to be.
  const bool plain = space == space_ && now == last_time_;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const flow::Transfer& transfer = row[i];
    if (i + kAhead < row.size()) rules.prefetch(row[i + kAhead].what, row[i + kAhead / 2].what);
    if (transfer.branches != 0) count_left_out(transfer);
    if (transfer.what == 0) continue;
    if (transfer.what == flow::TransferBook::kSpan) {
      if (spans->are_summed()) {
        follow_summed(*spans, book, time, rules);
      } else {
        follow_span(*spans, book, time, rules);
      }
      continue;
    }
    std::uint32_t insns = transfer.since;
    for (std::uint32_t at = transfer.what;; ++at) {
      CallRule& rule = rules.at(book, at);
      const bool last = rule.last;
      insns += rule.insns;
      if (!plain || !follow_rule(rule, rules, insns, transfer.to, time)) {
        follow_written(space, book[at], insns, transfer.to, time, now);
      }
      if (last) break;
      insns = 0;
    }
  }
}

// What the decoder has followed itself: all of it plain, wherever the calls were that it did not
// know of.
void CallStack::follow_span(CallSpans& spans, const flow::TransferBook& book, std::uint64_t time,
                            CallRules& rules) {
  const CallSpans::Span span = spans.next();
  if (frames_.empty()) start({.to = book[span.sums.first].from, .time = time}, false);
  const CallClock begin = clock_;
  const auto move_to = [&](std::uint32_t branches, std::uint32_t insns) {
    clock_.branches = begin.branches + branches;
    clock_.instructions = begin.instructions + insns;
  };
  auto single = span.singles.begin();
  std::uint32_t returned = 0;
  const auto tell_singles = [&] {
    for (; single != span.singles.end() && single->returned == returned; ++single) {
      passed_in_span(*single, spans, book, begin, rules);
    }
  };
  tell_singles();
  for (const flow::ReturnedCall& call : span.returned) {
    move_to(call.branches, call.insns);
    returned_in_span(call, book, time);
    ++returned;
    tell_singles();
  }
  for (const std::uint64_t site : span.noted) sites_.add(site);
  for (const flow::OpenedCall& call : span.opened) {
    move_to(call.branches, call.insns);
    opened_in_span(call, spans.callee(call.callee), book, begin, time);
  }
  move_to(span.sums.branches, span.sums.insns);
  paths_[top_node()].instructions += span.sums.insns;
  if (watcher_ == nullptr) return;
  const auto number = [&](std::uint32_t n) { return n == 0 ? 0 : begin.branches + n; };
  watcher_->passed(number(span.sums.last_call), number(span.sums.last_return));
}

void CallStack::passed_in_span(const flow::SingleCall& call, CallSpans& spans,
                               const flow::TransferBook& book, const CallClock& begin,
                               CallRules& rules) {
  if (watcher_ == nullptr) return;
  PassedCall out{.callee = call.callee,
                 .function = rules.callee(call.callee, spans).function,
                 .caller = PassedCall::kNobody,
                 .site = book[call.at].from,
                 .since = clock_,
                 .until = clock_};
  out.since.branches = begin.branches + call.branches;
  out.since.instructions = begin.instructions + call.insns;
  out.until.branches = begin.branches + call.end_branches;
  out.until.instructions = begin.instructions + call.end_insns;
  if (call.caller != flow::SingleCall::kOpenBefore) {
    out.caller = rules.callee(call.caller, spans).function;
  } else {
    const auto around = std::ranges::find(frames_.rbegin(), frames_.rend(), false,
                                          [](const Frame& frame) { return frame.function.stub; });
    if (around != frames_.rend()) out.caller = around->function.function;
  }
  watcher_->passed_one(out);
}

void CallStack::returned_in_span(const flow::ReturnedCall& call, const flow::TransferBook& book,
                                 std::uint64_t time) {
  step_ = call.since;
  if (frames_.empty()) start({.to = book[call.at].from, .time = time}, false);
  Branch branch = flow::branch_of(book[call.at], call.to, time);
  returned(branch);
}

void CallStack::opened_in_span(const flow::OpenedCall& call, const CallJudging::Callee& callee,
                               const flow::TransferBook& book, const CallClock& begin,
                               std::uint64_t time) {
  step_ = call.made_insns;
  const Located& function = callee.by_call ? functions_.called(space_, callee.entry, time)
                                           : functions_.at(space_, callee.entry, time);
  push(function, call.was_jumped_to() ? CallEntry::jumped : CallEntry::called,
       {book[call.at].from, callee.entry, callee.by_call});
  if (keeps_calls_) calls_.back().made_branch = begin.branches + call.made_branches;
}

// The same, of which nothing is told but what it comes to.
void CallStack::follow_summed(CallSpans& spans, const flow::TransferBook& book, std::uint64_t time,
                              CallRules& rules) {
  const CallSpans::Summed span = spans.next_summed();
  std::uint32_t before = 0;  // instructions of nobody's call
  if (frames_.empty()) {
    before = span.sums.insns;
    paths_[top_node()].instructions += before;
    start({.to = book[span.sums.first].from, .time = time}, false);
  }
  nodes_of_span_.clear();
  auto returned = span.returned.begin();
  for (const flow::CalledPath& path : span.paths) {
    std::uint32_t node = 0;
    if (path.callee == flow::CalledPath::kOpenBefore) {
      if (!nodes_of_span_.empty()) returned_in_span(*returned++, book, time);
      node = top_node();
    } else {
      node = paths_.child(nodes_of_span_[path.parent], rules.callee(path.callee, spans).function);
    }
    nodes_of_span_.push_back(node);
    paths_[node].calls += path.calls;
    paths_[node].instructions += path.insns - std::exchange(before, 0);
    clock_.instructions += path.insns;
  }
  for (const std::uint64_t site : span.noted) sites_.add(site);
  for (const flow::LeftOpen& call : span.open) {
    const std::uint64_t entry = spans.callee(call.callee).entry;
    const bool jumped = call.was_jumped_to();
    reopen(rules.callee(call.callee, spans), nodes_of_span_[call.path],
           jumped ? CallEntry::jumped : CallEntry::called, {book[call.at].from, entry});
  }
}

void CallStack::follow_written(std::uint32_t space, const Branch& written, std::uint32_t insns,
                               std::uint64_t to, std::uint64_t time, std::uint64_t now) {
  Branch branch = flow::branch_of(written, to, time);
  branch.insns = insns;
  this->branch(space, branch, now);
}

void CallStack::count_left_out(const flow::Transfer& transfer) {
  const std::uint32_t insns = transfer.insns - transfer.since;
  clock_.branches += transfer.branches;
  clock_.instructions += insns;
  paths_[top_node()].instructions += insns;
}

}  // namespace hodo::analyze
