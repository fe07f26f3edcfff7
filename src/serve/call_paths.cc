#include "call_paths.h"

#include <algorithm>
#include <deque>
#include <optional>

namespace hodo::serve {
namespace {

// Puts a tree together: finds or makes the child of a node by its name. There may be a million.
class Builder {
 public:
  void expect(std::size_t count) {
    nodes.reserve(nodes.size() + count);
    while (places_.size() < 2 * (nodes.size() + count)) places_.resize(places_.size() * 2);
    put_all();
  }
  std::uint32_t child(std::uint32_t parent, std::uint32_t name, const ask::Moment& first) {
    std::size_t at = place(parent, name);
    for (; places_[at] != 0; at = (at + 1) & (places_.size() - 1)) {
      const PathNode& known = nodes[places_[at]];
      if (known.parent == parent && known.name == name) return places_[at];
    }
    const auto number = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back({.name = name, .parent = parent, .first = first});
    places_[at] = number;
    if (2 * nodes.size() > places_.size()) {
      places_.resize(places_.size() * 2);
      put_all();
    }
    return number;
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
  // splitmix64's mixing.
  std::size_t place(std::uint32_t parent, std::uint32_t name) const {
    std::uint64_t key = std::uint64_t{parent} << 32 | name;
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9;
    key = (key ^ key >> 27) * 0x94d049bb133111eb;
    return static_cast<std::size_t>(key ^ key >> 31) & (places_.size() - 1);
  }
  void put_all() {
    std::ranges::fill(places_, 0);
    for (std::uint32_t i = 1; i < nodes.size(); ++i) {
      std::size_t at = place(nodes[i].parent, nodes[i].name);
      while (places_[at] != 0) at = (at + 1) & (places_.size() - 1);
      places_[at] = i;
    }
  }

  std::vector<std::uint32_t> places_ = std::vector<std::uint32_t>(64);  // a power of two; 0: free
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
    builder.expect(lane.nodes.size());
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

namespace {

// What goes outwards from functions through a node of the paths.
struct Origin {
  std::uint32_t at = 0;     // the node
  std::uint32_t first = 0;  // the first node that it came from
  Weight weight;
};

// Those of one node are one, in the order of the nodes.
void put_together(std::vector<Origin>& origins) {
  std::ranges::stable_sort(origins, {}, &Origin::at);
  std::size_t used = 0;
  for (const Origin& origin : origins) {
    if (used != 0 && origins[used - 1].at == origin.at) {
      origins[used - 1].weight += origin.weight;
      origins[used - 1].first = std::min(origins[used - 1].first, origin.first);
    } else {
      origins[used++] = origin;
    }
  }
  origins.resize(used);
}

Weight sum_of(const std::vector<Origin>& origins) {
  Weight out;
  for (const Origin& origin : origins) out += origin.weight;
  return out;
}

// Turns paths round, breadth first: what is worth so little that nobody will see it keeps its
// callers to itself. Else deep stacks would make as many nodes as there are paths times their
// depth.
class Inverter {
 public:
  explicit Inverter(const CallPaths& paths) : paths_(paths) {}

  std::vector<PathNode> invert(std::vector<Origin> origins) {
    all_ = sum_of(origins);
    spread(0, std::move(origins));
    while (!waiting_.empty()) {
      auto [node, of_node] = std::move(waiting_.front());
      waiting_.pop_front();
      outwards(node, std::move(of_node));
    }
    std::vector<PathNode> out = builder_.take();
    for (std::size_t i = 0; i < out.size(); ++i) out[i].total.calls = calls_[i];
    return out;
  }

 private:
  static constexpr std::uint64_t kShare = 5000;
  static constexpr std::size_t kMostNodes = std::size_t{1} << 20;

  static bool is_share(std::uint64_t part, std::uint64_t whole) {
    return whole != 0 && part >= whole / kShare;
  }
  bool is_worth(const Weight& weight) const {
    return builder_.nodes.size() < kMostNodes &&
           (is_share(weight.instructions, all_.instructions) || is_share(weight.time, all_.time) ||
            is_share(weight.calls, all_.calls));
  }

  // Below `node`, by the names of where they stand.
  void spread(std::uint32_t node, std::vector<Origin> origins) {
    std::map<std::uint32_t, std::vector<Origin>> by_name;
    for (const Origin& origin : origins) {
      by_name[paths_.nodes[origin.at].name].push_back(origin);
    }
    for (auto& [name, some] : by_name) {
      put_together(some);
      const auto first = std::ranges::min(some, {}, &Origin::first).first;
      const std::uint32_t child = builder_.child(node, name, paths_.nodes[first].first);
      calls_.resize(builder_.nodes.size());
      const Weight weight = sum_of(some);
      calls_[child] = weight.calls;
      if (is_worth(weight)) {
        waiting_.emplace_back(child, std::move(some));
      } else {
        builder_.nodes[child].self += weight;
      }
    }
  }

  void outwards(std::uint32_t node, std::vector<Origin> origins) {
    std::erase_if(origins, [&](Origin& origin) {
      origin.at = paths_.nodes[origin.at].parent;
      if (origin.at == 0) builder_.nodes[node].self += origin.weight;
      return origin.at == 0;
    });
    spread(node, std::move(origins));
  }

  const CallPaths& paths_;
  Builder builder_;
  Weight all_;
  std::vector<std::uint64_t> calls_{0};
  std::deque<std::pair<std::uint32_t, std::vector<Origin>>> waiting_;
};

}  // namespace

CallPaths inverted(const CallPaths& paths, const std::function<bool(const SliceName&)>& meant) {
  CallPaths out{.names = paths.names};
  std::vector<bool> inside(paths.nodes.size(), false);  // of an outermost call that is meant
  std::vector<Origin> origins;
  for (std::uint32_t i = 1; i < paths.nodes.size(); ++i) {
    const PathNode& node = paths.nodes[i];
    Weight weight = node.self;
    if (meant) {
      inside[i] = inside[node.parent] || meant(paths.names[node.name]);
      if (inside[node.parent] || !inside[i]) continue;
      weight.instructions = node.total.instructions;
      weight.time = node.total.time;
    }
    origins.push_back({i, i, weight});
  }
  out.nodes = Inverter(paths).invert(std::move(origins));
  return out;
}

}  // namespace hodo::serve
