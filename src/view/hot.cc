#include "hodo/view/hot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

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
    HotFunction*& known = known_[place.function];
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
  std::unordered_map<const NamedPlaces::Function*, HotFunction*> known_;
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
  void add(const Edge& edge, const Ends& ends) {
    if (!is_branch(edge.kind) || ends.to.function == nullptr) return;
    const Key key{ends.from.function->number, ends.to.function->number, ends.from.offset,
                  ends.to.offset, edge.kind};
    by_name_.try_emplace(key, Sum{&edge, ends}).first->second.count += edge.count;
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
  struct Key {
    std::uint32_t from = 0;  // numbers of names
    std::uint32_t to = 0;
    std::uint64_t from_offset = 0;
    std::uint64_t to_offset = 0;
    BranchKind kind = BranchKind::lost;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t h = (std::uint64_t{key.from} << 32 | key.to) * 0x9e3779b97f4a7c15;
      h = (h ^ h >> 32 ^ key.from_offset) * 0xc2b2ae3d27d4eb4f;
      h = (h ^ h >> 29 ^ key.to_offset ^ static_cast<std::uint64_t>(key.kind) << 56) *
          0x165667b19e3779f9;
      return static_cast<std::size_t>(h ^ h >> 32);
    }
  };
  struct Sum {
    const Edge* example;
    Ends ends;
    std::uint64_t count = 0;
  };
  struct Named {
    HotEdge edge;
    const Edge* example = nullptr;
  };

  // The `top` most frequent, and those that are as frequent as the last of them.
  std::vector<const Sum*> most(std::size_t top) const {
    std::vector<const Sum*> out;
    if (top == 0) return out;
    out.reserve(by_name_.size());
    for (const auto& [key, sum] : by_name_) out.push_back(&sum);
    if (out.size() <= top) return out;
    const auto last = out.begin() + static_cast<std::ptrdiff_t>(top - 1);
    const auto count = [](const Sum* sum) { return sum->count; };
    std::ranges::nth_element(out, last, std::ranges::greater(), count);
    const std::uint64_t least = (*last)->count;
    std::erase_if(out, [least](const Sum* sum) { return sum->count < least; });
    return out;
  }

  std::unordered_map<Key, Sum, KeyHash> by_name_;
};

}  // namespace

HotPlaces hot_places(const std::vector<Edge>& edges, const session::Names& names, std::size_t top,
                     SourceDetail detail) {
  NamedPlaces places(names);
  FunctionTable functions(names, detail);
  EdgeTable by_name;
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
