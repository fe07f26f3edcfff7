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

void StepGraph::ask(Link link, bool taken, const BranchSink& sink, bool exact,
                    const CallJudge* judge) {
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
  if (judge == nullptr || row == 0 || (cond && !end)) return;
  if (const std::uint32_t plain = plain_step(link, taken, row, exact, *judge); plain != 0)
    answer = plain;
}

// The word of a step with a plain return at its end, or with one plain call on the way and an
// outcome that is left out; 0: it is neither.
std::uint32_t StepGraph::plain_step(Link link, bool taken, std::uint32_t row, bool exact,
                                    const CallJudge& judge) {
  const std::uint32_t number = number_of(link);
  Shown& shown = shown_[number];
  const std::uint32_t insns = details_[number].insns;
  if (!details_[number].has_tail || insns > leaving::kMostInsns ||
      shown.edge_count > leaving::kMostJumps) {
    return 0;
  }
  const std::uint32_t does = ops(row, &judge);
  if (!std::has_single_bit(does)) return 0;
  const auto nth = static_cast<std::uint32_t>(std::countr_zero(does));
  const std::uint32_t what = told_[row + nth].step.what;
  const bool own = (what & (following::kStub | following::kByTarget)) == 0;
  const CallOp::Kind kind = following::kind(what);
  Tail& tail = steps_[number + 1].tail;
  if (shown.kind == BranchKind::ret) {
    if (tail.calls != 0 || !own || kind != CallOp::Kind::ret) return 0;
    shown.row = row;
    return leaving::kAll | insns | std::uint32_t{shown.edge_count} << leaving::kJumpsShift;
  }
  if (shown.kind != BranchKind::cond || tail.calls != 1 || !own || kind != CallOp::Kind::call)
    return 0;
  const std::uint32_t before = insns - shown.tail;
  if (nth >= shown.edge_count) return 0;
  if (!exact) {
    if (nth + 1u != shown.edge_count || before > summed_call::kMostInsns) return 0;
    shown.row = row;
    summed_call::set_callee(tail, following::callee(what), (what & following::kNoted) != 0);
    return summed_call::word(before, nth, shown.tail);
  }
  // There is no room to say that it is noted.
  if (before > on_the_way::kMostInsns || (what & following::kNoted) != 0) return 0;
  if (const std::uint32_t callee = following::callee(what); is_single(callee)) {
    not_plain_[callee].push_back(number << 1 | (taken ? 1 : 0));
    return 0;
  }
  shown.row = row;
  tail.way = on_the_way::packed(before, shown.edge_count - 1u);
  return leaving::kAll | shown.tail;
}

void StepGraph::forget_ran() {
  for (const std::uint32_t one : awake_) {
    std::uint32_t& word = steps_[one >> 1].step.count[one & 1];
    word = leaving::asleep(word);
  }
  awake_.clear();
  ++rounds_;
  if (++round_ != 0) return;
  std::ranges::fill(ran_, std::uint8_t{0});
  round_ = 1;
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

bool StepGraph::runs_first(Link link) {
  std::uint32_t units = units_[number_of(link)];
  if (units == kNoUnit) units = units_[number_of(link)] = units_of(link);
  if ((units & kSeveral) == 0) return ran_first(units);
  bool first = false;
  for (std::size_t i = units & ~kSeveral;; ++i) {
    first |= ran_first(unit_lists_[i] & ~kSeveral);
    if ((unit_lists_[i] & kSeveral) != 0) return first;
  }
}

void StepGraph::append_units(Link link, std::vector<LearnedUnit>& out) {
  std::uint32_t units = units_[number_of(link)];
  if (units == kNoUnit) units = units_[number_of(link)] = units_of(link);
  const auto add = [&](std::uint32_t unit) {
    if (std::ranges::find(out, unit, &LearnedUnit::unit) == out.end()) out.push_back({unit, link});
  };
  if ((units & kSeveral) == 0) return add(units);
  for (std::size_t i = units & ~kSeveral;; ++i) {
    add(unit_lists_[i] & ~kSeveral);
    if ((unit_lists_[i] & kSeveral) != 0) return;
  }
}

std::uint32_t StepGraph::units_of(Link link) {
  const BlockCache::Validity& validity = validities_[details_[number_of(link)].validity];
  lines_of_step_.clear();
  append_lines(link, lines_of_step_);
  std::vector<std::uint32_t>& found = units_of_step_;
  found.clear();
  for (const CodeLine& line : lines_of_step_) {
    std::uint64_t at = line.first >> kCodeUnitBits;
    do {
      const std::uint32_t number = number_of_unit({at, validity});
      if (std::ranges::find(found, number) == found.end()) found.push_back(number);
    } while (at++ < line.last >> kCodeUnitBits);
  }
  if (found.size() == 1) return found.front();
  const auto begin = static_cast<std::uint32_t>(unit_lists_.size());
  unit_lists_.insert(unit_lists_.end(), found.begin(), found.end());
  unit_lists_.back() |= kSeveral;
  return begin | kSeveral;
}

std::uint32_t StepGraph::number_of_unit(const Unit& unit) {
  const auto [it, fresh] = unit_numbers_.try_emplace(unit, static_cast<std::uint32_t>(ran_.size()));
  if (fresh) ran_.push_back(0);
  return it->second;
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
