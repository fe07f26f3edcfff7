// What a sink has judged of steps (BranchSink::wants_passages), and passages written out.
#include <algorithm>
#include <bit>
#include <optional>
#include <ranges>
#include <utility>

#include "steps.h"

namespace hodo::flow {

void StepGraph::forget_judged(std::uint64_t number) {
  judged_by_ = number;
  pairs_.clear();
  summed_supersteps_.clear();
  for (std::size_t n = 1; n < steps_.size(); ++n) {
    if (details_[n].last_size == 0) continue;
    Step& step = steps_[n].step;
    step.count = {};
    if (shown_[n].kind != BranchKind::cond) step.next[0] = StepPairs::kEmpty;
  }
}

// Later, if any of them is to come first.
BranchSink::Judged StepGraph::judge_on_the_way(std::uint32_t number, BranchSink& sink) const {
  using Judged = BranchSink::Judged;
  const Shown& shown = shown_[number];
  std::span<const Call> calls;
  Call one;
  if (details_[number].has_tail) {
    const Tail& tail = steps_[number + 1].tail;
    one = {.returns = tail.returns};
    calls = tail.calls == 1
                ? std::span<const Call>(&one, 1)
                : std::span(calls_).subspan(static_cast<std::size_t>(tail.returns), tail.calls);
    if (tail.end == Tail::End::call) calls = calls.first(calls.size() - 1);
  }
  const auto edges = this->edges(shown);
  const auto made = std::ranges::count(edges, BranchKind::call, &Branch::kind);
  // One of the next instruction opens none.
  if (std::cmp_not_equal(made, calls.size())) return Judged::comes;
  Judged all = Judged::passes;
  for (Branch edge : edges) {
    edge.time = time_;
    std::uint64_t next = 0;
    if (edge.kind == BranchKind::call) {
      next = calls.front().returns;
      calls = calls.subspan(1);
    }
    const Judged judged = sink.judged(edge, next);
    if (judged == Judged::comes) return judged;
    if (judged == Judged::later) all = judged;
  }
  return all;
}

void StepGraph::judge(Link link, bool taken, BranchSink& sink) {
  using Judged = BranchSink::Judged;
  const std::uint32_t number = number_of(link);
  const Shown& shown = shown_[number];
  const bool cond = shown.kind == BranchKind::cond;
  std::uint32_t& answer = steps_[number].step.count[cond && taken ? 1 : 0];
  const std::uint32_t insns = details_[number].insns;
  const auto edges = this->edges(shown);
  const auto jumps =
      static_cast<std::uint32_t>(std::ranges::count(edges, BranchKind::jmp, &Branch::kind));
  Judged all = insns > leaving::kMostInsns || jumps > leaving::kMostJumps
                   ? Judged::comes
                   : judge_on_the_way(number, sink);
  if (cond && taken && all != Judged::comes) {
    const Judged end =
        sink.judged({.from = shown.at, .to = shown.to, .time = time_, .kind = BranchKind::cond}, 0);
    if (end != Judged::passes) all = end;
  }
  if (all == Judged::comes) answer |= judging::kComes;
  if (all != Judged::passes) return;
  // The answer goes with the link to where the branch leads: while there is none, nobody would know
  // when the code there changes.
  if (cond && taken && steps_[number].step.next[1] == kNoLink) return;
  answer |= judging::kPasses | jumps << leaving::kJumpsShift | insns;
}

bool StepGraph::passes(Link from, Link to, BranchSink& sink) {
  const std::uint32_t number = number_of(from);
  Step& step = steps_[number].step;
  if (is_known_to_pass(step, to)) return true;
  const Shown& shown = shown_[number];
  const bool near = shown.kind == BranchKind::icall || shown.kind == BranchKind::ijmp ||
                    shown.kind == BranchKind::ret;
  if (!near || shown.flags != 0) return false;
  const Tail& tail = steps_[number + 1].tail;
  std::uint64_t next = 0;
  if (tail.end == Tail::End::call) {
    next = tail.calls == 1 ? tail.returns : calls(tail).back().returns;
  }
  const Branch branch{.from = shown.at, .to = ip_of(to), .time = time_, .kind = shown.kind};
  const BranchSink::Judged judged = sink.judged(branch, next);
  if (judged == BranchSink::Judged::passes_apart) {
    // Where the code of an end changes, this goes with its step.
    step.count[0] |= judging::kReturnsApart;
    steps_[number_of(to)].step.count[0] |= judging::kReturnedTo;
    return true;
  }
  if (judged != BranchSink::Judged::passes) return false;
  pairs_.add(step.next[0], number_of(to));
  return true;
}

// Calls visit(shown, to) for each step, with where its branch led, if it did not fall through.
template <class Visit>
void StepGraph::each_step(const PassedRow& row, std::span<const Link> returns, Visit visit) const {
  if (row.outcomes == 0) return visit(shown(row.step), std::optional(ip_of(row.to)));
  Link here = row.step;
  const Link* returned = returns.data() + row.to;
  for (auto left = std::bit_width(row.outcomes) - 1; left-- != 0;) {
    const Shown& shown = this->shown(here);
    if (shape_of(here) == Shape::packet) {
      here = *returned++;
      visit(shown, std::optional(ip_of(here)));
      continue;
    }
    const bool taken = (row.outcomes >> left & 1) != 0;
    visit(shown, taken ? std::optional(shown.to) : std::nullopt);
    if (left == 0) return;  // another thread may find out just now where it leads
    here = steps_[number_of(here)].step.next[taken ? 1 : 0];
  }
}

void StepGraph::append(const Passages& batch, std::span<const Passages::Entry> entries,
                       std::uint64_t insns, std::uint64_t time, std::vector<Branch>& out) const {
  const auto write = [&](Branch branch) {
    branch.time = time;
    branch.insns = saturate_insns(std::exchange(insns, 0) + branch.insns);
    out.push_back(branch);
  };
  for (const Passages::Entry& entry : entries) {
    each_step(PassedRow::of(entry), batch.returns,
              [&](const Shown& shown, std::optional<std::uint64_t> to) {
                for (const Branch& edge : edges(shown)) write(edge);
                insns += shown.tail;
                if (to)
                  write({.from = shown.at, .to = *to, .kind = shown.kind, .flags = shown.flags});
              });
  }
}

std::uint64_t StepGraph::insns_behind(std::span<const Passages::Entry> entries,
                                      std::span<const Link> returns, std::uint64_t before) const {
  std::uint64_t behind = 0;
  for (const Passages::Entry& entry : entries | std::views::reverse) {
    std::uint64_t insns = 0;
    bool branches = false;
    each_step(PassedRow::of(entry), returns,
              [&](const Shown& shown, std::optional<std::uint64_t> to) {
                insns = to ? 0 : (shown.edge_count != 0 ? 0 : insns) + shown.tail;
                branches = branches || to || shown.edge_count != 0;
              });
    behind += insns;
    if (branches) return behind;
  }
  return behind + before;
}

}  // namespace hodo::flow
