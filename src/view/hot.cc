#include "hodo/view/hot.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "hodo/view/text.h"

namespace hodo::view {
namespace {

using analyze::Edge;

bool is_branch(BranchKind kind) { return kind < BranchKind::begin; }

// A function's name without the offset, so that code without symbols adds up to one line per
// object.
std::string function_of(std::uint64_t address, const session::Place& place) {
  if (!place.symbol.empty()) return printable(place.symbol);
  if (place.object.starts_with('[')) return object_name(place);
  if (!place.object.empty()) return fmt::format("[{}]", object_name(place));
  return address == 0 ? "" : "[unknown]";
}

// Sums edges by function.
class FunctionTable {
 public:
  FunctionTable(const session::Names& names, SourceDetail detail)
      : names_(names), detail_(detail) {}

  void add(const Edge& edge) {
    session::Place from = place(edge, edge.from);
    at(edge, edge.from, from, true).instructions += edge.insns;
    if (edge.to == 0 || edge.not_taken) return;
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
    if (!is_branch(edge.kind) || edge.to == 0 || edge.not_taken) continue;
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
