#include "hodo/analyze/profile.h"

#include <algorithm>

namespace hodo::analyze {
namespace {

std::size_t hash(const Edge& e) {
  std::uint64_t h = e.from * 0x9e3779b97f4a7c15;
  h = (h ^ (h >> 32) ^ e.to) * 0xc2b2ae3d27d4eb4f;
  h = (h ^ (h >> 29) ^ e.era) * 0x165667b19e3779f9;
  return static_cast<std::size_t>(h ^ (h >> 32));
}

bool is_branch(BranchKind kind) { return kind < BranchKind::begin; }

}  // namespace

Profile::Profile(const session::Names& names, std::size_t max_edges)
    : eras_(names), max_edges_(max_edges) {}

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

Edge* Profile::Table::slot(const Edge& like) {
  std::size_t mask = edges.size() - 1;
  for (std::size_t i = hash(like) & mask;; i = (i + 1) & mask) {
    Edge& edge = edges[i];
    bool same = edge.from == like.from && edge.to == like.to && edge.era == like.era &&
                edge.kind == like.kind && edge.not_taken == like.not_taken;
    if (edge.count == 0 || same) return &edge;
  }
}

void Profile::Table::grow() {
  std::vector<Edge> old(2 * edges.size());
  old.swap(edges);
  for (const Edge& edge : old) {
    if (edge.count != 0) *slot(edge) = edge;
  }
}

Profile::Table& Profile::table_of(std::uint32_t space) {
  Last& last = last_[space == session::kKernelSpace ? 1 : 0];
  if (last.table == nullptr || last.space != space) last = {space, &tables_[space]};
  return *last.table;
}

void Profile::add(std::uint32_t space, const flow::RunCount& run) {
  const auto counted = eras_.of(space, run.edge.from, run.edge.to, run.time);
  const Edge like{.from = run.edge.from,
                  .to = run.edge.to,
                  .time = run.time,
                  .space = counted.space,
                  .era = counted.era,
                  .kind = run.edge.kind,
                  .not_taken = (run.edge.flags & kNotTaken) != 0};
  Table& table = table_of(counted.space);
  Edge* edge = table.slot(like);
  if (edge->count == 0) {
    if (used_ == max_edges_) {
      dropped_ += run.edge.count;
      return;
    }
    *edge = like;
    ++used_;
    ++table.used;
  }
  edge->count += run.edge.count;
  edge->time = std::min(edge->time, run.time);
  edge->insns += run.edge.count * run.insns;
  if (2 * table.used > table.edges.size()) table.grow();
}

std::vector<Edge> Profile::edges() const {
  std::vector<Edge> out;
  out.reserve(used_);
  for (const auto& [space, table] : tables_) {
    for (const Edge& edge : table.edges) {
      if (edge.count != 0) out.push_back(edge);
    }
  }
  return out;
}

}  // namespace hodo::analyze
