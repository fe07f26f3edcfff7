// What a sink said of steps where it leaves jumps out (BranchSink::leaves_out_jumps).
#include <algorithm>
#include <vector>

#include "steps.h"

namespace hodo::flow {

bool StepGraph::on_the_way_is_left_out(const Shown& shown, std::uint64_t line,
                                       const BranchSink& sink) const {
  for (Branch edge : edges(shown)) {
    edge.time = time_;
    if (edge.kind != BranchKind::jmp || !sink.may_leave_out(line, edge)) return false;
    line = edge.to;
  }
  return true;
}

// The branch at the end, or that it falls through.
bool StepGraph::is_left_out(Link link, bool taken, const BranchSink& sink) const {
  const std::uint32_t number = number_of(link);
  const Shown& shown = shown_[number];
  const auto on_the_way = edges(shown);
  const std::uint64_t line = on_the_way.empty() ? details_[number].ip : on_the_way.back().to;
  return shown.kind == BranchKind::cond &&
         sink.may_leave_out(line, {.from = shown.at,
                                   .to = outcome_ip(link, taken),
                                   .time = time_,
                                   .kind = BranchKind::cond,
                                   .flags = taken ? std::uint8_t{0} : std::uint8_t{kNotTaken}});
}

void StepGraph::ask(Link link, bool taken, const BranchSink& sink, bool exact) {
  const std::uint32_t number = number_of(link);
  const Shown& shown = shown_[number];
  const bool cond = shown.kind == BranchKind::cond;
  std::uint32_t& answer = steps_[number].step.count[cond && taken ? 1 : 0];
  const std::uint32_t insns = details_[number].insns;
  const bool end = is_left_out(link, taken, sink);
  const bool says_last = taken || shown.edge_count == 0;
  if (end && (says_last || !exact) && insns <= leaving::kMostInsns &&
      shown.edge_count <= leaving::kMostJumps &&
      on_the_way_is_left_out(shown, details_[number].ip, sink)) {
    answer = leaving::kAll | insns | std::uint32_t{shown.edge_count} << leaving::kJumpsShift;
    return;
  }
  const std::uint32_t row = tell(link, taken);
  answer = row == 0 ? leaving::kWritten : leaving::kTold | row;
  if (cond && !taken && !end) answer |= leaving::kNextComes;
}

// 0: there is no branch in it, or no room for it.
std::uint32_t StepGraph::tell(Link link, bool taken) {
  const Shown& shown = shown_[number_of(link)];
  const auto on_the_way = edges(shown);
  const bool cond = shown.kind == BranchKind::cond;
  std::vector<Branch> row(on_the_way.begin(), on_the_way.end());
  if (taken || !cond) {
    row.push_back({.from = shown.at,
                   .to = cond ? shown.to : 0,
                   .insns = shown.tail,
                   .kind = shown.kind,
                   .flags = shown.flags});
  }
  const std::uint32_t number = book_->add(row);
  if (number == 0) return 0;
  const auto of_kind = [&](BranchKind kind) {
    return static_cast<std::uint8_t>(std::ranges::count(on_the_way, kind, &Branch::kind));
  };
  told_.resize(number + row.size());
  targets_.resize(told_.size());
  Told& told = told_[number];
  told.insns = details_[number_of(link)].insns;
  told.tail = taken || !cond ? 0 : shown.tail;
  told.jumps = of_kind(BranchKind::jmp);
  told.calls = of_kind(BranchKind::call);
  told.end = shown.kind;
  told.branches = static_cast<std::uint8_t>(std::min<std::size_t>(row.size(), 0xff));
  note_returns(link, number);
  return number;
}

void StepGraph::append_lines(Link link, std::vector<CodeLine>& out) const {
  const std::uint32_t number = number_of(link);
  const Shown& shown = shown_[number];
  std::uint64_t begin = details_[number].ip;
  for (const Branch& edge : edges(shown)) {
    out.push_back({begin, edge.from});
    begin = edge.to;
  }
  out.push_back({begin, shown.at});
}

}  // namespace hodo::flow
