#include "details.h"

#include <algorithm>

namespace hodo::serve {
namespace {

// As if the branches before a segment had come.
void begin_at(const ask::Index& index, std::size_t segment, analyze::Following& following,
              LaneBuilder& builder) {
  builder.restore(index.calls_at(segment, following.return_sites()));
}

// Follows one thread's path up to a branch, or as far as a range goes.
class PartSink final : public ask::ThreadSink {
 public:
  PartSink(LaneBuilder& builder, session::Clock clock, std::uint64_t until)
      : builder_(builder), clock_(clock), until_(until) {}
  void stop_behind(const Range& range) { range_ = range; }

  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    std::uint64_t number = first - 1;
    for (const Branch& branch : batch) {
      if ((branch.flags & kNotTaken) == 0 && ++number > until_) return false;
      builder_.branch(who, branch, clock_.nanoseconds(branch.time));
    }
    return !range_ || range_->of(builder_.at()) <= range_->to;
  }

 private:
  LaneBuilder& builder_;
  session::Clock clock_;
  std::uint64_t until_;
  std::optional<Range> range_;
};

std::uint64_t beginning(const ask::Segment& segment, analyze::SliceAxis axis) {
  return axis == analyze::SliceAxis::time ? segment.time : segment.calls.clock.instructions;
}

std::vector<SliceName> names_of(const analyze::Following& following) {
  std::vector<SliceName> out;
  for (const analyze::Function& function : following.functions()) {
    out.push_back({function.name, function.object});
  }
  return out;
}

// What is open at the part's end may be known to the overview by its beginning.
void close_known(Lane& part, const Lane& whole) {
  for (std::size_t depth = 0; depth < std::min(part.rows.size(), whole.rows.size()); ++depth) {
    if (part.rows[depth].empty()) continue;
    Slice& last = part.rows[depth].back();
    if (!last.open) continue;
    const auto& row = whole.rows[depth];
    const auto it = std::ranges::lower_bound(row, last.branch, {}, &Slice::branch);
    if (it == row.end() || it->branch != last.branch || it->count != 1) continue;
    last.to = it->to;
    last.open = it->open;
  }
}

}  // namespace

Details::Details(session::Session& session)
    : session_(session), following_(session.names(), session.clock()) {}

std::optional<SegmentRange> Details::segments_of(const ask::Index& index,
                                                 const ask::ThreadId& thread, const Range& range) {
  std::optional<SegmentRange> out;
  const auto segments = index.segments();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].thread != thread) continue;
    const std::uint64_t at = beginning(segments[i], range.axis);
    if (!out || at < range.from) out = SegmentRange{i, i};
    if (at <= range.to) out->last = i;
  }
  if (out && out->last - out->first >= kMostSegments) out.reset();
  return out;
}

std::size_t Details::missing(const SegmentRange& segments) const {
  const auto known = std::ranges::count_if(kept_, [&](const Kept& one) {
    return one.segment >= segments.first && one.segment <= segments.last;
  });
  return segments.last - segments.first + 1 - static_cast<std::size_t>(known);
}

Result<Lane> Details::decode(const ask::IndexedRecording& recording, std::size_t segment) {
  const auto all = recording.index.segments();
  Lane out;
  out.total.thread = all[segment].thread;
  SliceRoom room(kMostSlices);
  std::size_t node_room = 0;
  LaneBuilder builder(following_, room, node_room, out);
  begin_at(recording.index, segment, following_, builder);
  const std::size_t next = segment + 1;
  const bool ends = next == all.size() || all[next].thread != out.total.thread;
  PartSink sink(builder, session_.clock(), ends ? ~std::uint64_t{0} : all[next].branches);
  auto outcome = ask::walk_from(recording, segment, sink);
  if (!outcome) return std::unexpected(outcome.error());
  builder.finish();
  if (room.full()) room.grow({&out});
  const auto& functions = following_.functions();
  for (std::size_t i = names_.size(); i < functions.size(); ++i) {
    names_.push_back({functions[i].name, functions[i].object});
  }
  return out;
}

// Makes room behind the `needed` ones that were used last.
void Details::forget(std::size_t needed) {
  while (slices_ > kMostKept && kept_.size() > needed) {
    slices_ -= kept_.back().slices;
    kept_.pop_back();
  }
}

Result<std::vector<const Lane*>> Details::at(
    const ask::IndexedRecording& recording, const SegmentRange& segments, const Overview& overview,
    const std::function<bool(std::uint64_t done, std::uint64_t all)>& goes_on) {
  std::vector<const Lane*> out;
  const std::size_t count = segments.last - segments.first + 1;
  for (std::size_t segment = segments.first; segment <= segments.last; ++segment) {
    auto it = std::ranges::find(kept_, segment, &Kept::segment);
    if (it == kept_.end()) {
      if (!goes_on(out.size(), count)) return fail(ErrorCode::not_found, "given up");
      auto lane = decode(recording, segment);
      if (!lane) return std::unexpected(lane.error());
      const auto whole = std::ranges::find(overview.lanes, lane->total.thread,
                                           [](const Lane& one) { return one.total.thread; });
      if (whole != overview.lanes.end()) close_known(*lane, *whole);
      std::size_t slices = 0;
      for (const auto& row : lane->rows) slices += row.size();
      kept_.push_front({segment, slices, std::move(*lane)});
      slices_ += slices;
      it = kept_.begin();
    }
    kept_.splice(kept_.begin(), kept_, it);
    out.push_back(&kept_.front().lane);
  }
  forget(count);
  return out;
}

namespace {

// All threads' stacks in a range.
class AllStacks final : public ask::ThreadSink {
 public:
  AllStacks(session::Session& session, const Range& range)
      : clock_(session.clock()), following_(session.names(), session.clock()), range_(range) {}

  bool branches(const session::Context& who, std::uint64_t,
                std::span<const Branch> batch) override {
    const ask::ThreadId id = ask::thread_of(who);
    auto [it, fresh] = threads_.try_emplace(id);
    if (fresh) {
      it->second = std::make_unique<Thread>(following_, room_, node_room_);
      it->second->lane.total = {.thread = id, .pid = who.pid};
      it->second->builder.only_stacks(range_);
      order_.push_back(it->second.get());
    }
    for (const Branch& branch : batch) {
      it->second->builder.branch(who, branch, clock_.nanoseconds(branch.time));
    }
    return true;
  }

  PartStacks take() {
    PartStacks out{.names = names_of(following_)};
    for (Thread* thread : order_) {
      thread->builder.finish();
      out.lanes.push_back(std::move(thread->lane));
    }
    return out;
  }

 private:
  struct Thread {
    Thread(analyze::Following& following, SliceRoom& room, std::size_t& node_room)
        : builder(following, room, node_room, lane) {}
    Lane lane;
    LaneBuilder builder;
  };
  session::Clock clock_;
  analyze::Following following_;
  Range range_;
  SliceRoom room_{0};
  std::size_t node_room_ = Overview::kMostNodes;
  std::map<ask::ThreadId, std::unique_ptr<Thread>> threads_;
  std::vector<Thread*> order_;
};

// One thread's, from the segment on in which the range begins.
Result<PartStacks> from_segment(session::Session& session, const ask::IndexedRecording& index,
                                std::size_t segment, const Range& range) {
  analyze::Following following(session.names(), session.clock());
  PartStacks out;
  Lane& lane = out.lanes.emplace_back();
  lane.total.thread = index.index.segments()[segment].thread;
  SliceRoom room(0);
  std::size_t node_room = Overview::kMostNodes;
  LaneBuilder builder(following, room, node_room, lane);
  builder.only_stacks(range);
  begin_at(index.index, segment, following, builder);
  PartSink sink(builder, session.clock(), ~std::uint64_t{0});
  sink.stop_behind(range);
  auto outcome = ask::walk_from(index, segment, sink);
  if (!outcome) return std::unexpected(outcome.error());
  builder.finish();
  out.names = names_of(following);
  out.losses = std::move(outcome->losses);
  return out;
}

}  // namespace

Result<PartStacks> stacks_of(session::Session& session, const ask::WalkOptions& walk,
                             const ask::IndexedRecording* index,
                             const std::optional<ask::ThreadId>& thread, const Range& range) {
  if (index != nullptr && thread) {
    std::optional<std::size_t> from;
    const auto segments = index->index.segments();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (segments[i].thread != *thread) continue;
      if (!from || beginning(segments[i], range.axis) < range.from) from = i;
    }
    if (from) return from_segment(session, *index, *from, range);
  }
  AllStacks all(session, range);
  auto outcome = ask::walk(session, walk, all);
  if (!outcome) return std::unexpected(outcome.error());
  PartStacks out = all.take();
  out.losses = std::move(outcome->losses);
  return out;
}

}  // namespace hodo::serve
