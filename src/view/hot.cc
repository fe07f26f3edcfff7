#include "hodo/view/hot.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "hodo/view/text.h"
#include "named_places.h"

namespace hodo::view {
namespace {

using analyze::Edge;

bool is_branch(BranchKind kind) { return kind < BranchKind::begin; }

// A function's name without the offset, so that code without symbols adds up to one line per
// object.
std::string function_of(std::uint64_t address, const NamedPlaces::Function& function) {
  const session::Place& place = function.place;
  if (function.has_symbol()) return function.name;
  if (place.object.starts_with('[')) return object_name(place);
  if (!place.object.empty()) return fmt::format("[{}]", object_name(place));
  return address == 0 ? "" : "[unknown]";
}

// Where an edge begins and ends.
struct Ends {
  NamedPlaces::At from;
  NamedPlaces::At to;  // without a function: it is no branch, or leads nowhere
};

// Sums edges by function.
class FunctionTable {
 public:
  FunctionTable(const session::Names& names, SourceDetail detail)
      : names_(names), detail_(detail) {}

  void add(const Edge& edge, const Ends& ends) {
    at(edge, edge.from, ends.from, true).instructions += edge.insns;
    if (ends.to.function == nullptr) return;
    if (enters(edge.kind, ends)) at(edge, edge.to, ends.to, false).calls += edge.count;
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
  static bool enters(BranchKind kind, const Ends& ends) {
    const session::Place& from = ends.from.function->place;
    const session::Place& to = ends.to.function->place;
    if (to.stub) return false;
    if (kind == BranchKind::call || kind == BranchKind::icall) return true;
    bool jump = kind == BranchKind::ijmp || kind == BranchKind::jmp;
    bool resolver = from.symbol.starts_with("_dl_runtime_resolve");
    return jump && (from.stub || resolver) && ends.to.offset == 0 && !to.symbol.empty();
  }

  HotFunction& at(const Edge& edge, std::uint64_t address, const NamedPlaces::At& place,
                  bool inlined) {
    if (inlined && detail_.inlined) return look(edge, address, place, true);
    const std::size_t index = place.function->index;
    if (index >= known_.size()) known_.resize(2 * index + 1);
    HotFunction*& known = known_[index];
    if (known == nullptr) known = &look(edge, address, place, false);
    return *known;
  }

  HotFunction& look(const Edge& edge, std::uint64_t address, const NamedPlaces::At& at,
                    bool inlined) {
    const session::Place& place = at.function->place;
    std::pair key(function_of(address, *at.function), object_name(place));
    if (inlined) {
      auto frames = session::source_of(names_.object(edge.space, address, edge.time));
      inlined = frames.size() > 1;
      if (inlined) key.first = printable(frames[0].function) + " (inlined)";
    }
    auto [it, fresh] = by_name_.try_emplace(key);
    if (!fresh) return it->second;
    it->second = {
        .name = key.first, .object = key.second, .synthetic = place.synthetic && !inlined};
    if (detail_.line && !inlined && !place.symbol.empty()) {
      std::uint64_t start = address - at.offset;
      it->second.source =
          source_line(session::source_of(names_.object(edge.space, start, edge.time)));
    }
    return it->second;
  }

  const session::Names& names_;
  SourceDetail detail_;
  std::map<std::pair<std::string, std::string>, HotFunction> by_name_;
  std::vector<HotFunction*> known_;  // by NamedPlaces::Function::index
};

void append_source(std::string& label, const session::Names& names, const Edge& edge,
                   std::uint64_t address, SourceDetail detail) {
  auto frames = session::source_of(names.object(edge.space, address, edge.time));
  std::string source = source_text(frames, detail);
  if (!source.empty()) label += " " + source;
}

// Sums edges by name and not by address: processes that run the same file add up.
class EdgeTable {
 public:
  // For so many edges.
  explicit EdgeTable(std::size_t most) : table_(std::bit_ceil(2 * most + 1)) {}

  void add(const Edge& edge, const Ends& ends) {
    if (!is_branch(edge.kind) || ends.to.function == nullptr) return;
    const std::size_t mask = table_.size() - 1;
    std::size_t at = hash(edge, ends) & mask;
    while (table_[at] != 0 && !is_same(sums_[table_[at] - 1], edge, ends)) at = (at + 1) & mask;
    if (table_[at] == 0) {
      sums_.push_back({&edge, ends});
      table_[at] = static_cast<std::uint32_t>(sums_.size());
    }
    sums_[table_[at] - 1].count += edge.count;
  }

  std::vector<HotEdge> take(std::size_t top, const session::Names& names, SourceDetail detail) {
    std::vector<Named> named;
    for (const Sum* const sum : most(top)) {
      const auto& [from, to] = sum->ends;
      named.push_back({{.from = from.label(),
                        .to = to.label(),
                        .kind = sum->example->kind,
                        .count = sum->count,
                        .from_synthetic = from.function->place.synthetic,
                        .to_synthetic = to.function->place.synthetic},
                       sum->example});
    }
    using Order = std::tuple<std::uint64_t, const std::string&, const std::string&, BranchKind>;
    std::ranges::sort(named, {}, [](const Named& n) {
      return Order(~n.edge.count, n.edge.from, n.edge.to, n.edge.kind);
    });
    if (named.size() > top) named.resize(top);
    std::vector<HotEdge> out;
    for (auto& [edge, example] : named) {
      if (detail.any()) {
        append_source(edge.from, names, *example, example->from, detail);
        append_source(edge.to, names, *example, example->to, detail);
      }
      out.push_back(std::move(edge));
    }
    return out;
  }

 private:
  struct Sum {
    const Edge* example;
    Ends ends;
    std::uint64_t count = 0;
  };
  static std::size_t hash(const Edge& edge, const Ends& ends) {
    const std::uint64_t from = ends.from.function->number;
    std::uint64_t h = (from << 32 | ends.to.function->number) * 0x9e3779b97f4a7c15;
    h = (h ^ h >> 32 ^ ends.from.offset) * 0xc2b2ae3d27d4eb4f;
    h = (h ^ h >> 29 ^ ends.to.offset ^ static_cast<std::uint64_t>(edge.kind) << 56) *
        0x165667b19e3779f9;
    return static_cast<std::size_t>(h ^ h >> 32);
  }
  static bool is_same(const Sum& sum, const Edge& edge, const Ends& ends) {
    const auto alike = [](const NamedPlaces::At& a, const NamedPlaces::At& b) {
      return a.offset == b.offset && a.function->number == b.function->number;
    };
    return sum.example->kind == edge.kind && alike(sum.ends.from, ends.from) &&
           alike(sum.ends.to, ends.to);
  }
  struct Named {
    HotEdge edge;
    const Edge* example = nullptr;
  };

  // The `top` most frequent, and those that are as frequent as the last of them.
  std::vector<const Sum*> most(std::size_t top) const {
    std::vector<const Sum*> out;
    if (top == 0) return out;
    out.reserve(sums_.size());
    for (const Sum& sum : sums_) out.push_back(&sum);
    if (out.size() <= top) return out;
    const auto last = out.begin() + static_cast<std::ptrdiff_t>(top - 1);
    const auto count = [](const Sum* sum) { return sum->count; };
    std::ranges::nth_element(out, last, std::ranges::greater(), count);
    const std::uint64_t least = (*last)->count;
    std::erase_if(out, [least](const Sum* sum) { return sum->count < least; });
    return out;
  }

  std::vector<Sum> sums_;
  std::vector<std::uint32_t> table_;  // of sums, 1 the first; open addressing, 0: free
};

}  // namespace

HotPlaces hot_places(const std::vector<Edge>& edges, const session::Names& names, std::size_t top,
                     SourceDetail detail) {
  NamedPlaces places(names);
  FunctionTable functions(names, detail);
  EdgeTable by_name(edges.size());
  for (const Edge& edge : edges) {
    Ends ends{.from = places.at(edge.space, edge.from, edge.time), .to = {}};
    if (edge.to != 0 && !edge.not_taken) ends.to = places.at(edge.space, edge.to, edge.time);
    functions.add(edge, ends);
    by_name.add(edge, ends);
  }
  HotPlaces out{.functions = functions.take(), .edges = by_name.take(top, names, detail)};
  std::ranges::stable_sort(out.functions, std::ranges::greater(), &HotFunction::instructions);
  return out;
}

}  // namespace hodo::view
