#include "hodo/view/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "hodo/view/place.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

constexpr std::size_t kFirstSize = 1 << 12;

std::size_t hash(std::uint32_t space, std::uint32_t era, const Branch& b) {
  std::uint64_t h = b.from * 0x9e3779b97f4a7c15;
  h = (h ^ (h >> 32) ^ b.to) * 0xc2b2ae3d27d4eb4f;
  h = (h ^ (h >> 29) ^ space ^ std::uint64_t{era} << 32) * 0x165667b19e3779f9;
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

namespace {

// Sums edges by function.
class FunctionTable {
 public:
  FunctionTable(const session::Names& names, SourceDetail detail)
      : names_(names), detail_(detail) {}

  void add(const Edge& edge) {
    session::Place from = place(edge, edge.from);
    at(edge, edge.from, from, true).instructions += edge.insns;
    if (edge.to == 0) return;
    session::Place to = place(edge, edge.to);
    if (enters(edge.kind, from, to)) at(edge, edge.to, to, false).calls += edge.count;
  }

  std::vector<HotFunction> take() {
    std::vector<HotFunction> out;
    out.reserve(by_name_.size());
    for (auto& [key, value] : by_name_) out.push_back(std::move(value));
    return out;
  }

 private:
  // A call of a stub is none of the function yet: that is the jump out of the stub, or, the first
  // time, out of the dynamic linker's resolver.
  static bool enters(BranchKind kind, const session::Place& from, const session::Place& to) {
    if (to.stub) return false;
    if (kind == BranchKind::call || kind == BranchKind::icall) return true;
    bool jump = kind == BranchKind::ijmp || kind == BranchKind::jmp;
    bool resolver = from.symbol.starts_with("_dl_runtime_resolve");
    return jump && (from.stub || resolver) && to.offset == 0 && !to.symbol.empty();
  }

  session::Place place(const Edge& edge, std::uint64_t address) const {
    return names_.place(edge.space, address, edge.time);
  }

  HotFunction& at(const Edge& edge, std::uint64_t address, const session::Place& place,
                  bool inlined) {
    std::pair key(function_of(address, place), object_name(place));
    if (inlined && detail_.inlined) {
      auto frames = session::source_of(names_.object(edge.space, address, edge.time));
      inlined = frames.size() > 1;
      if (inlined) key.first = printable(frames[0].function) + " (inlined)";
    } else {
      inlined = false;
    }
    auto [it, fresh] = by_name_.try_emplace(key);
    if (!fresh) return it->second;
    it->second = {
        .name = key.first, .object = key.second, .synthetic = place.synthetic && !inlined};
    if (detail_.line && !inlined && !place.symbol.empty()) {
      std::uint64_t start = address - place.offset;
      it->second.source =
          source_line(session::source_of(names_.object(edge.space, start, edge.time)));
    }
    return it->second;
  }

  const session::Names& names_;
  SourceDetail detail_;
  std::map<std::pair<std::string, std::string>, HotFunction> by_name_;
};

std::string edge_label(const session::Names& names, const Edge& edge, std::uint64_t address) {
  session::Place place = names.place(edge.space, address, edge.time);
  if (place.symbol.empty()) return function_name(address, place);
  return fmt::format("{}+{:#x}", printable(place.symbol), place.offset);
}

void append_source(std::string& label, const session::Names& names, const Edge& edge,
                   std::uint64_t address, SourceDetail detail) {
  auto frames = session::source_of(names.object(edge.space, address, edge.time));
  std::string source = source_text(frames, detail);
  if (!source.empty()) label += " " + source;
}

}  // namespace

std::vector<HotFunction> hot_functions(const std::vector<Edge>& edges, const session::Names& names,
                                       SourceDetail detail) {
  FunctionTable table(names, detail);
  for (const Edge& edge : edges) table.add(edge);
  std::vector<HotFunction> out = table.take();
  std::ranges::stable_sort(out, std::ranges::greater(), &HotFunction::instructions);
  return out;
}

std::vector<HotEdge> hot_edges(const std::vector<Edge>& edges, const session::Names& names,
                               std::size_t top, SourceDetail detail) {
  // By name and not by address: processes that run the same file add up.
  struct Sum {
    HotEdge named;
    const Edge* example = nullptr;
  };
  std::map<std::tuple<std::string, std::string, BranchKind>, Sum> by_name;
  for (const Edge& edge : edges) {
    if (!is_branch(edge.kind) || edge.to == 0) continue;
    HotEdge named{edge_label(names, edge, edge.from), edge_label(names, edge, edge.to), edge.kind,
                  0};
    Sum sum{named, &edge};
    by_name.try_emplace({named.from, named.to, named.kind}, sum).first->second.named.count +=
        edge.count;
  }
  std::vector<Sum> sums;
  sums.reserve(by_name.size());
  for (auto& [key, value] : by_name) sums.push_back(std::move(value));
  std::ranges::stable_sort(sums, std::ranges::greater(),
                           [](const Sum& sum) { return sum.named.count; });
  if (sums.size() > top) sums.resize(top);
  std::vector<HotEdge> out;
  for (Sum& sum : sums) {
    const Edge& edge = *sum.example;
    sum.named.from_synthetic = names.place(edge.space, edge.from, edge.time).synthetic;
    sum.named.to_synthetic = names.place(edge.space, edge.to, edge.time).synthetic;
    if (detail.any()) {
      append_source(sum.named.from, names, *sum.example, sum.example->from, detail);
      append_source(sum.named.to, names, *sum.example, sum.example->to, detail);
    }
    out.push_back(std::move(sum.named));
  }
  return out;
}

}  // namespace hodo::view
