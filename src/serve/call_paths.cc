#include "call_paths.h"

#include <algorithm>
#include <optional>

namespace hodo::serve {
namespace {

// Puts a tree together: finds or makes the child of a node by its name.
class Builder {
 public:
  std::uint32_t child(std::uint32_t parent, std::uint32_t name, const ask::Moment& first) {
    const auto [it, fresh] =
        children_.try_emplace({parent, name}, static_cast<std::uint32_t>(nodes.size()));
    if (fresh) nodes.push_back({.name = name, .parent = parent, .first = first});
    return it->second;
  }
  // With the sums of what lies below each node.
  std::vector<PathNode> take() {
    for (PathNode& node : nodes) node.total = node.self;
    for (std::size_t i = nodes.size(); i-- > 1;) {
      nodes[nodes[i].parent].total.instructions += nodes[i].total.instructions;
      nodes[nodes[i].parent].total.time += nodes[i].total.time;
    }
    return std::move(nodes);
  }
  std::vector<PathNode> nodes{PathNode{}};

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> children_;
};

// One number for each name: the same function has several where it was found in several ways.
std::vector<std::uint32_t> numbered(const std::vector<SliceName>& names) {
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> first;
  std::vector<std::uint32_t> out;
  out.reserve(names.size());
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    out.push_back(first.try_emplace({names[i].name, names[i].object}, i).first->second);
  }
  return out;
}

}  // namespace

CallPaths paths_of(const std::vector<Lane>& lanes, const std::vector<SliceName>& names,
                   const std::function<bool(const ThreadTotal&)>& wanted) {
  const std::vector<std::uint32_t> number = numbered(names);
  CallPaths out{.names = names};
  Builder builder;
  for (const Lane& lane : lanes) {
    if (!wanted(lane.total)) continue;
    std::vector<std::uint32_t> at(lane.nodes.size(), 0);
    for (std::size_t i = 0; i < lane.nodes.size(); ++i) {
      const StackNode& node = lane.nodes[i];
      if (i != 0) {
        at[i] =
            builder.child(at[node.parent], number[node.name], {lane.total.thread, node.first, 0});
      }
      builder.nodes[at[i]].self += {node.instructions, node.time, node.calls};
    }
    out.other += {lane.other_instructions, lane.other_time, 0};
  }
  out.nodes = builder.take();
  return out;
}

CallPaths through(const CallPaths& paths, const std::function<bool(const SliceName&)>& meant) {
  CallPaths out{.names = paths.names};
  Builder builder;
  constexpr std::uint32_t kOutside = ~std::uint32_t{0};
  std::vector<std::uint32_t> at(paths.nodes.size(), kOutside);
  for (std::size_t i = 1; i < paths.nodes.size(); ++i) {
    const PathNode& node = paths.nodes[i];
    const std::uint32_t above = at[node.parent];
    if (above == kOutside && !meant(paths.names[node.name])) continue;
    at[i] = builder.child(above == kOutside ? 0 : above, node.name, node.first);
    builder.nodes[at[i]].self += node.self;
  }
  out.nodes = builder.take();
  return out;
}

CallPaths inverted(const CallPaths& paths, const std::function<bool(const SliceName&)>& meant) {
  CallPaths out{.names = paths.names};
  Builder builder;
  std::vector<bool> inside(paths.nodes.size(), false);  // of an outermost call that is meant
  std::vector<Weight> extra(1);
  for (std::size_t i = 1; i < paths.nodes.size(); ++i) {
    const PathNode& node = paths.nodes[i];
    Weight weight = node.self;
    if (meant) {
      inside[i] = inside[node.parent] || meant(paths.names[node.name]);
      if (inside[node.parent] || !inside[i]) continue;
      weight.instructions = node.total.instructions;
      weight.time = node.total.time;
    }
    std::uint32_t to = 0;
    for (std::size_t n = i; n != 0; n = paths.nodes[n].parent) {
      to = builder.child(to, paths.nodes[n].name, node.first);
      extra.resize(builder.nodes.size());
      extra[to] += weight;
    }
    builder.nodes[to].self += {weight.instructions, weight.time, 0};
  }
  out.nodes = builder.take();
  for (std::size_t i = 1; i < out.nodes.size(); ++i) out.nodes[i].self.calls = extra[i].calls;
  for (PathNode& node : out.nodes) node.total.calls = node.self.calls;
  return out;
}

}  // namespace hodo::serve
