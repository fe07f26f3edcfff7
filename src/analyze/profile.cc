#include "hodo/analyze/profile.h"

#include <algorithm>
#include <tuple>

namespace hodo::analyze {
namespace {

constexpr std::size_t kFirstSlots = 1 << 12;

std::size_t hash(const Edge& e) {
  std::uint64_t h = e.from * 0x9e3779b97f4a7c15;
  h = (h ^ (h >> 32) ^ e.to) * 0xc2b2ae3d27d4eb4f;
  h = (h ^ (h >> 29) ^ e.space ^ std::uint64_t{e.era} << 32) * 0x165667b19e3779f9;
  return static_cast<std::size_t>(h ^ (h >> 32));
}

bool is_branch(BranchKind kind) { return kind < BranchKind::begin; }

}  // namespace

Profile::Profile(const session::Names& names, std::size_t max_edges)
    : homes_(names), max_edges_(max_edges), table_(kFirstSlots) {}

bool Profile::runs(const session::Context& context, std::span<const flow::RunCount> batch) {
  TaskTotals& totals = tasks_[{context.pid, context.tid}];
  for (const flow::RunCount& run : batch) {
    const flow::EdgeCount& edge = run.edge;
    totals.instructions += edge.count * run.insns;
    const bool taken = is_branch(edge.kind) && (edge.flags & kNotTaken) == 0;
    if (taken) totals.branches += edge.count;
    if (edge.from != 0) add(context.space, run);
  }
  return true;
}

std::uint32_t& Profile::slot(const Edge& like) {
  std::size_t mask = table_.size() - 1;
  for (std::size_t i = hash(like) & mask;; i = (i + 1) & mask) {
    const std::uint32_t number = table_[i];
    if (number == 0) return table_[i];
    const Edge& edge = edges_[number - 1];
    bool same = edge.from == like.from && edge.to == like.to && edge.space == like.space &&
                edge.era == like.era && edge.kind == like.kind && edge.not_taken == like.not_taken;
    if (same) return table_[i];
  }
}

void Profile::add(std::uint32_t space, const flow::RunCount& run) {
  const session::Home home = homes_.of(space, run.edge.from, run.edge.to, run.time);
  const Edge like{.from = home.from,
                  .to = home.to,
                  .time = home.time,
                  .space = home.space,
                  .era = home.era,
                  .kind = run.edge.kind,
                  .not_taken = (run.edge.flags & kNotTaken) != 0};
  std::uint32_t& number = slot(like);
  if (number == 0) {
    if (edges_.size() == max_edges_) {
      dropped_ += run.edge.count;
      return;
    }
    edges_.push_back(like);
    number = static_cast<std::uint32_t>(edges_.size());
  }
  Edge& edge = edges_[number - 1];
  edge.count += run.edge.count;
  edge.time = std::min(edge.time, home.time);
  edge.insns += run.edge.count * run.insns;
  if (2 * edges_.size() > table_.size()) grow();
}

void Profile::grow() {
  table_.assign(2 * table_.size(), 0);
  std::uint32_t number = 0;
  for (const Edge& edge : edges_) slot(edge) = ++number;
}

std::vector<Edge> Profile::edges() const {
  std::vector<Edge> out(edges_.begin(), edges_.end());
  std::ranges::sort(out, {}, [](const Edge& e) {
    return std::tuple(e.space, e.era, e.from, e.to, e.kind, e.not_taken);
  });
  return out;
}

}  // namespace hodo::analyze
