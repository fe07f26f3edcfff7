#include "hodo/view/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "hodo/view/place.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

constexpr std::size_t kFirstSize = 1 << 12;

std::size_t hash(std::uint32_t space, const Branch& b) {
  std::uint64_t h = b.from * 0x9e3779b97f4a7c15;
  h = (h ^ (h >> 32) ^ b.to) * 0xc2b2ae3d27d4eb4f;
  h = (h ^ (h >> 29) ^ space) * 0x165667b19e3779f9;
  return static_cast<std::size_t>(h ^ (h >> 32));
}

bool is_branch(BranchKind kind) { return kind < BranchKind::begin; }

// A function's name without the offset, so that code without symbols adds up to one line per
// object.
std::string function_of(std::uint64_t address, const session::Place& place) {
  if (!place.symbol.empty()) return printable(place.symbol);
  if (place.object.starts_with('[')) return object_name(place);
  if (!place.object.empty()) return fmt::format("[{}]", object_name(place));
  return address == 0 ? "" : "[unknown]";
}

}  // namespace

Profile::Profile(std::size_t max_edges) : max_edges_(max_edges), table_(kFirstSize) {}

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

Edge* Profile::slot(std::uint32_t space, const Branch& branch) {
  std::size_t mask = table_.size() - 1;
  for (std::size_t i = hash(space, branch) & mask;; i = (i + 1) & mask) {
    Edge& edge = table_[i];
    bool same = edge.from == branch.from && edge.to == branch.to && edge.space == space &&
                edge.kind == branch.kind;
    if (edge.count == 0 || same) return &edge;
  }
}

void Profile::add(std::uint32_t space, const Branch& branch) {
  Edge* edge = slot(space, branch);
  if (edge->count == 0) {
    if (used_ == max_edges_) {
      ++dropped_;
      return;
    }
    *edge = {.from = branch.from,
             .to = branch.to,
             .time = branch.time,
             .space = space,
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
    *slot(edge.space, key) = edge;
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

std::vector<HotFunction> hot_functions(const std::vector<Edge>& edges,
                                       const session::Names& names) {
  std::map<std::pair<std::string, std::string>, HotFunction> by_name;
  auto function = [&](const Edge& edge, std::uint64_t address) -> HotFunction& {
    session::Place place = names.place(edge.space, address, edge.time);
    std::pair key(function_of(address, place), object_name(place));
    auto [it, fresh] = by_name.try_emplace(key);
    if (fresh) it->second = {.name = key.first, .object = key.second};
    return it->second;
  };
  for (const Edge& edge : edges) {
    function(edge, edge.from).instructions += edge.insns;
    bool call = edge.kind == BranchKind::call || edge.kind == BranchKind::icall;
    if (call && edge.to != 0) function(edge, edge.to).calls += edge.count;
  }
  std::vector<HotFunction> out;
  out.reserve(by_name.size());
  for (auto& [key, value] : by_name) out.push_back(std::move(value));
  std::ranges::stable_sort(out, std::ranges::greater(), &HotFunction::instructions);
  return out;
}

std::vector<HotEdge> hot_edges(const std::vector<Edge>& edges, const session::Names& names,
                               std::size_t top) {
  // By name and not by address: processes that run the same file add up.
  std::map<std::tuple<std::string, std::string, BranchKind>, HotEdge> by_name;
  auto label = [&](const Edge& edge, std::uint64_t address) {
    session::Place place = names.place(edge.space, address, edge.time);
    if (place.symbol.empty()) return function_name(address, place);
    return fmt::format("{}+{:#x}", printable(place.symbol), place.offset);
  };
  for (const Edge& edge : edges) {
    if (!is_branch(edge.kind) || edge.to == 0) continue;
    HotEdge named{label(edge, edge.from), label(edge, edge.to), edge.kind, 0};
    auto& sum = by_name.try_emplace({named.from, named.to, named.kind}, named).first->second;
    sum.count += edge.count;
  }
  std::vector<HotEdge> out;
  out.reserve(by_name.size());
  for (auto& [key, value] : by_name) out.push_back(std::move(value));
  std::ranges::stable_sort(out, std::ranges::greater(), &HotEdge::count);
  if (out.size() > top) out.resize(top);
  return out;
}

}  // namespace hodo::view
