// One thread's calls as slices.
#include <algorithm>

#include "overview.h"

namespace hodo::serve {

void StackCounter::count(std::uint64_t instructions, std::uint64_t time, bool at_root) {
  const std::uint32_t top = at_root ? 0 : stack_.back();
  (top == kNoRoom ? lane_.other_instructions : lane_.nodes[top].instructions) += instructions;
  (top == kNoRoom ? lane_.other_time : lane_.nodes[top].time) += time;
}

void StackCounter::push(std::uint32_t name, std::uint64_t branch) {
  const std::uint32_t parent = stack_.back();
  std::uint32_t node = kNoRoom;
  if (parent != kNoRoom) {
    const std::uint32_t last = last_child_[parent];
    if (last != 0 && lane_.nodes[last].name == name) {
      node = last;
    } else if (const auto it = children_.find({parent, name}); it != children_.end()) {
      node = it->second;
    } else if (room_ != 0) {
      --room_;
      node = static_cast<std::uint32_t>(lane_.nodes.size());
      lane_.nodes.push_back({.name = name, .parent = parent, .first = branch});
      last_child_.push_back(0);
      children_.emplace(std::pair{parent, name}, node);
    }
    if (node != kNoRoom) last_child_[parent] = node;
  }
  if (node != kNoRoom && counting_) ++lane_.nodes[node].calls;
  stack_.push_back(node);
}

LaneBuilder::LaneBuilder(analyze::Following& following, SliceRoom& room, std::size_t& node_room,
                         Lane& lane)
    : room_(room), lane_(lane), calls_(following, this), stacks_(lane, node_room) {}

void LaneBuilder::only_stacks(const Range& range) {
  only_ = range;
  stacks_.set_counting(false);
}

void LaneBuilder::restore(const analyze::SavedCalls& saved) {
  restoring_ = true;
  at_ = {saved.clock.time, saved.clock.instructions};
  last_time_ = saved.last_time;
  space_ = saved.space;
  calls_.restore(saved);
  restoring_ = false;
}

void LaneBuilder::branch(const session::Context& who, const Branch& branch, std::uint64_t time) {
  before_ = at_;
  losing_ = branch.kind == BranchKind::lost;
  count(branch, time, who.space != space_);
  space_ = who.space;
  calls_.branch(who.space, branch);
  at_ = place(calls_.clock());
  if (losing_) mark(MarkKind::lost, at_, calls_.clock().branches);
  if (samples_ && branch.kind == BranchKind::begin) {
    mark(MarkKind::sample, at_, calls_.clock().branches);
  }
  losing_ = false;
}

// What was executed with this branch belongs to whoever is on top before it; where another program
// took the place of the one before, to nobody yet.
void LaneBuilder::count(const Branch& branch, std::uint64_t time, bool replaced) {
  const bool gone_on = time != 0 && last_time_ != 0 && time > last_time_;
  const std::uint64_t passed = gone_on && !losing_ ? time - last_time_ : 0;
  if (only_) {
    const Place end{std::max(at_.time, time), calls_.clock().instructions + branch.insns};
    stacks_.set_counting(only_->enters(end));
    stacks_.count(only_->part_of(end, branch.insns), only_->has(end) ? passed : 0, replaced);
  } else {
    stacks_.count(branch.insns, passed, replaced);
  }
  if (time != 0) last_time_ = time;
}

// Time stays where it is while nobody knows it, and never goes back.
Place LaneBuilder::place(const analyze::CallClock& clock) {
  return {std::max(at_.time, clock.time), std::max(at_.instructions, clock.instructions)};
}

void LaneBuilder::opened(const analyze::OpenCall& call, std::size_t) {
  Open& open = open_.emplace_back();
  if (call.how == analyze::CallEntry::outside && !losing_ && !restoring_) {
    mark(MarkKind::signal, place(call.since), call.since.branches);
  }
  if (call.stub) {
    stacks_.push_stub();
  } else {
    start(open, call);
  }
}

void LaneBuilder::became(const analyze::OpenCall& call, std::size_t depth) {
  if (depth + 1 != open_.size()) return;
  if (open_.back().shown) {  // the dynamic linker, which has found where the call leads
    end_innermost(place(call.since), true);
    open_.emplace_back();
  } else {
    stacks_.pop();
  }
  start(open_.back(), call);
}

void LaneBuilder::start(Open& open, const analyze::OpenCall& call) {
  open.slice.from = {call.since.time, call.since.instructions};
  if (call.since.time == 0) open.slice.from.time = at_.time;
  open.slice.branch = call.since.branches;
  open.slice.name = call.function;
  open.shown = true;
  ++depth_;
  stacks_.push(call.function, call.since.branches);
}

void LaneBuilder::closed(const analyze::OpenCall&, analyze::CallEnd how,
                         const analyze::CallClock& now) {
  // What was open at a loss ended somewhere in it: nobody knows more than that it was there before.
  const Place at = losing_ ? before_ : place(now);
  if (how == analyze::CallEnd::replaced) mark(MarkKind::exec, at, now.branches);
  end_innermost(at, true);
}

void LaneBuilder::end_innermost(const Place& at, bool known) {
  Open& open = open_.back();
  if (open.shown) {
    Slice slice = open.slice;
    slice.to = {std::max(slice.from.time, at.time),
                std::max(slice.from.instructions, at.instructions)};
    slice.open = !known;
    --depth_;
    if (!only_) add(slice);
  }
  stacks_.pop();
  open_.pop_back();
}

// To the row of the depth that is reached.
void LaneBuilder::add(const Slice& slice) {
  if (depth_ >= Overview::kMostRows) {
    ++lane_.deeper;
    return;
  }
  if (lane_.rows.size() <= depth_) lane_.rows.resize(depth_ + 1);
  std::vector<Slice>& row = lane_.rows[depth_];
  if (!row.empty() && fits(row.back(), slice, room_.grain())) {
    take_in(row.back(), slice);
  } else {
    row.push_back(slice);
    room_.count_one();
  }
}

void LaneBuilder::mark(MarkKind kind, const Place& at, std::uint64_t branch) {
  if (lane_.marks.size() == Overview::kMostMarks) {
    ++lane_.more_marks;
    return;
  }
  // An exec closes many calls.
  const bool told = !lane_.marks.empty() && lane_.marks.back().kind == kind &&
                    lane_.marks.back().branch == branch;
  if (!told) lane_.marks.push_back({kind, at, branch});
}

void LaneBuilder::finish() {
  while (!open_.empty()) end_innermost(at_, false);
}

}  // namespace hodo::serve
