#include "overview.h"

#include <algorithm>

#include "processors.h"

namespace hodo::serve {

bool fits(const Slice& first, const Slice& last, const Grain& grain) {
  if (grain.time == 0 && grain.instructions == 0) return false;
  if (first.open || last.open) return false;
  return last.to.time - first.from.time <= grain.time &&
         last.to.instructions - first.from.instructions <= grain.instructions &&
         first.count <= ~std::uint32_t{0} - last.count;
}

void take_in(Slice& into, const Slice& next) {
  into.to = next.to;
  into.count += next.count;
  if (into.name != next.name) into.name = Slice::kMerged;
}

void merge(std::vector<Slice>& row, const Grain& grain) {
  std::size_t kept = 0;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (fits(row[kept], row[i], grain)) {
      take_in(row[kept], row[i]);
    } else {
      row[++kept] = row[i];
    }
  }
  if (!row.empty()) row.resize(kept + 1);
}

void SliceRoom::grow(const std::vector<Lane*>& lanes) {
  constexpr std::uint64_t kFirst = 32;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  while (used_ > most_ / 2 && grain_.time < kMost) {
    grain_.time = std::max(kFirst, grain_.time * 2);
    grain_.instructions = grain_.time;
    used_ = 0;
    for (Lane* lane : lanes) {
      for (std::vector<Slice>& row : lane->rows) {
        merge(row, grain_);
        used_ += row.size();
      }
    }
  }
}

struct OverviewBuilder::Thread {
  Thread(analyze::Following& following, SliceRoom& room, std::size_t& node_room, std::size_t place)
      : number(static_cast<std::uint32_t>(place)), builder(following, room, node_room, lane) {}
  std::uint32_t number;  // of the lane
  Lane lane;
  LaneBuilder builder;
};

OverviewBuilder::OverviewBuilder(session::Session& session, std::size_t most_slices)
    : clock_(session.clock()),
      samples_(session.trace() == session::TraceKind::stacks),
      following_(session.names(), session.clock()),
      room_(most_slices) {
  const auto of_processor = [](const session::Queue& one) { return one.cpu >= 0 && one.tid < 0; };
  if (std::ranges::any_of(session.queues(), of_processor)) {
    processors_ = std::make_unique<ProcessorBuilder>();
  }
}
OverviewBuilder::~OverviewBuilder() = default;

OverviewBuilder::Thread& OverviewBuilder::of(const session::Context& who) {
  const ask::ThreadId id = ask::thread_of(who);
  if (last_ != nullptr && last_->lane.total.thread == id) return *last_;
  auto [it, fresh] = threads_.try_emplace(id);
  if (fresh) {
    it->second = std::make_unique<Thread>(following_, room_, node_room_, order_.size());
    if (samples_) it->second->builder.mark_samples();
    it->second->lane.total = {.thread = id, .pid = who.pid};
    order_.push_back(it->second.get());
  }
  last_ = it->second.get();
  return *last_;
}

bool OverviewBuilder::branches(const session::Context& who, std::uint64_t,
                               std::span<const Branch> batch) {
  Thread& thread = of(who);
  ThreadTotal& total = thread.lane.total;
  if (processors_) spaces_.branches(who, batch);
  for (const Branch& branch : batch) {
    const std::uint64_t time = clock_.nanoseconds(branch.time);
    thread.builder.branch(who, branch, time);
    if (processors_ && who.cpu >= 0) {
      processors_->branch(who.cpu, thread.number, branch, thread.builder.calls().clock(), time);
    }
    if (time == 0) continue;
    if (total.first_time == 0) total.first_time = time;
    total.last_time = time;
  }
  if (room_.full()) {
    std::vector<Lane*> lanes;
    lanes.reserve(order_.size());
    for (Thread* one : order_) lanes.push_back(&one->lane);
    room_.grow(lanes);
  }
  return true;
}

Overview OverviewBuilder::take() {
  Overview out;
  for (Thread* thread : order_) {
    thread->builder.finish();
    const analyze::CallClock& clock = thread->builder.calls().clock();
    thread->lane.total.branches = clock.branches;
    thread->lane.total.instructions = clock.instructions;
    out.lanes.push_back(std::move(thread->lane));
  }
  for (const analyze::Function& function : following_.functions()) {
    out.names.push_back({function.name, function.object});
  }
  if (processors_) {
    out.processors = processors_->take();
    out.spaces = std::move(spaces_);
  }
  out.grain = room_.grain();
  return out;
}

}  // namespace hodo::serve
