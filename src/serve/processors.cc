#include "processors.h"

#include <algorithm>

#include "hodo/view/task_name.h"

namespace hodo::serve {

void ProcessorBuilder::branch(std::int32_t cpu, std::uint32_t lane, const Branch& branch,
                              const analyze::CallClock& after, std::uint64_t time) {
  Processor& one = all_[cpu];
  one.cpu = cpu;
  const Place before = one.end;
  one.end.time = std::max(one.end.time, time);
  one.end.instructions += branch.insns;
  if ((branch.flags & kNotTaken) == 0) ++one.branches;
  // Nobody knows what ran where tracing paused, as in the kernel of who is recorded without it.
  const bool begins = branch.kind == BranchKind::begin;
  const bool paused = begins && one.end.time > before.time;
  const bool goes_on = !paused && !one.turns.empty() && one.turns.back().slice.name == lane;
  if (!goes_on) {
    ProcessorTurn& turn = one.turns.emplace_back();
    turn.begin = after.instructions - branch.insns;
    turn.slice.from = {one.end.time, before.instructions};
    turn.slice.branch = after.branches - (begins || after.branches == 0 ? 0 : 1);
    turn.slice.name = lane;
    ++used_;
  }
  one.turns.back().slice.to = one.end;
  if (used_ > most_) shrink();
}

void ProcessorBuilder::shrink() {
  constexpr std::uint64_t kFirst = 1024;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  while (used_ > most_ / 2 && grain_.time < kMost) {
    grain_.time = std::max(kFirst, grain_.time * 2);
    grain_.instructions = grain_.time;
    used_ = 0;
    for (auto& [cpu, one] : all_) {
      std::vector<ProcessorTurn> kept;
      for (const ProcessorTurn& turn : one.turns) {
        if (!kept.empty() && fits(kept.back().slice, turn.slice, grain_)) {
          take_in(kept.back().slice, turn.slice);
        } else {
          kept.push_back(turn);
        }
      }
      one.turns = std::move(kept);
      used_ += one.turns.size();
    }
  }
}

std::vector<Processor> ProcessorBuilder::take() {
  std::vector<Processor> out;
  out.reserve(all_.size());
  for (auto& [cpu, one] : all_) out.push_back(std::move(one));
  return out;
}

namespace {

// Puts the part together.
class PartBuilder {
 public:
  PartBuilder(const Overview& overview, const session::Session& session, const Range& range)
      : overview_(overview), session_(session), range_(range) {}

  void add(const ProcessorTurn& turn, std::uint64_t pixel) {
    Slice shown = turn.slice;
    if (shown.name != Slice::kMerged) shown.name = number(turn.slice.name, kOfThread);
    row(0).push_back(shown);
    if (turn.slice.count > 1 || length(turn.slice) <= pixel) return;
    const Lane& lane = overview_.lanes[turn.slice.name];
    for (std::size_t depth = 0; depth < lane.rows.size(); ++depth) {
      add_calls(turn, lane.rows[depth], depth + 1);
    }
  }

  ProcessorPart take() { return std::move(out_); }

 private:
  static constexpr std::uint32_t kOfThread = ~std::uint32_t{0};

  bool over_time() const { return range_.axis == analyze::SliceAxis::time; }
  std::uint64_t length(const Slice& slice) const {
    return range_.of(slice.to) - range_.of(slice.from);
  }
  std::vector<Slice>& row(std::size_t depth) {
    if (out_.lane.rows.size() <= depth) out_.lane.rows.resize(depth + 1);
    return out_.lane.rows[depth];
  }

  // Those that were open in the turn, cut to it and to the range: on the thread's own path both
  // begin elsewhere among the instructions.
  void add_calls(const ProcessorTurn& turn, const std::vector<Slice>& calls, std::size_t depth) {
    const std::uint64_t start = range_.of(turn.slice.from);
    const std::uint64_t zero = over_time() ? start : turn.begin;
    const std::uint64_t first = zero + std::max(range_.from, start) - start;
    const std::uint64_t last = zero + std::min(range_.to, range_.of(turn.slice.to)) - start;
    const auto end = [this](const Slice& call) { return range_.of(call.to); };
    for (auto it = std::ranges::lower_bound(calls, first, {}, end);
         it != calls.end() && range_.of(it->from) <= last; ++it) {
      const std::uint64_t from = std::max(range_.of(it->from), first);
      const std::uint64_t to = std::min(range_.of(it->to), last);
      if (from == to && length(*it) != 0) continue;  // it only touches the turn
      Slice call = *it;
      call.from = place(start + (from - zero));
      call.to = place(start + (to - zero));
      if (call.name != Slice::kMerged) call.name = number(turn.slice.name, call.name);
      row(depth).push_back(call);
    }
  }
  Place place(std::uint64_t at) const { return over_time() ? Place{at, 0} : Place{0, at}; }

  std::uint32_t number(std::uint32_t lane, std::uint32_t name) {
    const auto [it, fresh] =
        numbers_.try_emplace({lane, name}, static_cast<std::uint32_t>(out_.names.size()));
    if (!fresh) return it->second;
    const ThreadTotal& total = overview_.lanes[lane].total;
    out_.threads.push_back(total.thread);
    out_.names.push_back(name == kOfThread
                             ? SliceName{view::task_name(session_, total.pid, total.thread.tid), ""}
                             : overview_.names[name]);
    return it->second;
  }

  const Overview& overview_;
  const session::Session& session_;
  const Range& range_;
  ProcessorPart out_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;
};

}  // namespace

ProcessorPart part_of_processor(const Processor& processor, const Overview& overview,
                                const session::Session& session, const Range& range,
                                std::uint64_t pixel) {
  PartBuilder builder(overview, session, range);
  const auto end = [&range](const ProcessorTurn& turn) { return range.of(turn.slice.to); };
  for (auto it = std::ranges::lower_bound(processor.turns, range.from, {}, end);
       it != processor.turns.end() && range.of(it->slice.from) <= range.to; ++it) {
    builder.add(*it, pixel);
  }
  ProcessorPart out = builder.take();
  // All rows that it has anywhere.
  std::size_t depth = processor.turns.empty() ? 0 : 1;
  for (const ProcessorTurn& turn : processor.turns) {
    if (turn.slice.count == 1) {
      depth = std::max(depth, overview.lanes[turn.slice.name].rows.size() + 1);
    }
  }
  out.lane.rows.resize(std::max(depth, out.lane.rows.size()));
  return out;
}

}  // namespace hodo::serve
