#include "runs_from_branches.h"

namespace hodo::session {
namespace {

std::size_t hash(const flow::RunCount& run) {
  const std::uint64_t h = (run.edge.from * 0x9e3779b97f4a7c15) ^ (run.edge.to + run.begin);
  return static_cast<std::size_t>((h * 0xc2b2ae3d27d4eb4f) >> 32);
}

bool same(const flow::RunCount& a, const flow::RunCount& b) {
  return a.edge.from == b.edge.from && a.edge.to == b.edge.to && a.begin == b.begin &&
         a.insns == b.insns && a.edge.kind == b.edge.kind && a.edge.flags == b.edge.flags;
}

}  // namespace

bool RunsFromBranches::branches(const Context& context, std::span<const Branch> batch) {
  if (context != context_) {
    if (!finish()) return false;
    if (context_.queue != context.queue) line_ = 0;
    context_ = context;
  }
  for (const Branch& b : batch) {
    if (b.time != time_ || runs_.size() == kMostRuns) {
      if (!finish()) return false;
      time_ = b.time;
    }
    add({{b.from, b.to, 1, b.kind, b.flags}, line_, b.time, b.insns});
    line_ = flow::line_behind(b);
  }
  return true;
}

void RunsFromBranches::add(const flow::RunCount& run) {
  Place& place = places_[hash(run) & (kPlaces - 1)];
  if (place.round == round_ && same(runs_[place.at], run)) {
    ++runs_[place.at].edge.count;
    return;
  }
  place = {round_, runs_.size()};
  runs_.push_back(run);
}

bool RunsFromBranches::finish() {
  if (runs_.empty()) return true;
  const bool more = sink_.runs(context_, runs_);
  runs_.clear();
  ++round_;
  return more;
}

}  // namespace hodo::session
