#include "hodo/analyze/profile.h"

#include <algorithm>

namespace hodo::analyze {
namespace {

constexpr std::size_t kFirstSize = 1 << 12;

std::size_t hash(std::uint32_t space, std::uint32_t era, const Branch& b) {
  std::uint64_t h = b.from * 0x9e3779b97f4a7c15;
  h = (h ^ (h >> 32) ^ b.to) * 0xc2b2ae3d27d4eb4f;
  h = (h ^ (h >> 29) ^ space ^ std::uint64_t{era} << 32) * 0x165667b19e3779f9;
  return static_cast<std::size_t>(h ^ (h >> 32));
}

bool is_branch(BranchKind kind) { return kind < BranchKind::begin; }

}  // namespace

Profile::Profile(const session::Names& names, std::size_t max_edges)
    : eras_(names), max_edges_(max_edges), table_(kFirstSize) {}

bool Profile::branches(const session::Context& context, std::span<const Branch> batch) {
  TaskTotals& totals = tasks_[{context.pid, context.tid}];
  for (const Branch& branch : batch) {
    totals.instructions += branch.insns;
    bool taken = is_branch(branch.kind) && (branch.flags & kNotTaken) == 0;
    totals.branches += taken;
    if (branch.from != 0) add(context.space, branch);
  }
  return true;
}

Edge* Profile::slot(std::uint32_t space, std::uint32_t era, const Branch& branch) {
  std::size_t mask = table_.size() - 1;
  for (std::size_t i = hash(space, era, branch) & mask;; i = (i + 1) & mask) {
    Edge& edge = table_[i];
    bool same = edge.from == branch.from && edge.to == branch.to && edge.space == space &&
                edge.era == era && edge.kind == branch.kind;
    if (edge.count == 0 || same) return &edge;
  }
}

void Profile::add(std::uint32_t space, const Branch& branch) {
  const std::uint32_t era = eras_.at(space, branch.time);
  Edge* edge = slot(space, era, branch);
  if (edge->count == 0) {
    if (used_ == max_edges_) {
      ++dropped_;
      return;
    }
    *edge = {.from = branch.from,
             .to = branch.to,
             .time = branch.time,
             .space = space,
             .era = era,
             .kind = branch.kind};
    ++used_;
  }
  ++edge->count;
  edge->insns += branch.insns;
  if (2 * used_ > table_.size()) grow();
}

void Profile::grow() {
  std::vector<Edge> old(2 * table_.size());
  old.swap(table_);
  for (const Edge& edge : old) {
    if (edge.count == 0) continue;
    Branch key{.from = edge.from, .to = edge.to, .kind = edge.kind};
    *slot(edge.space, edge.era, key) = edge;
  }
}

std::vector<Edge> Profile::edges() const {
  std::vector<Edge> out;
  out.reserve(used_);
  for (const Edge& edge : table_) {
    if (edge.count != 0) out.push_back(edge);
  }
  return out;
}

}  // namespace hodo::analyze
