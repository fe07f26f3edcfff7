// The tree of distinct call paths.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hodo/analyze/call_tree.h"

namespace hodo::analyze {

class CallPaths {
 public:
  static constexpr std::uint32_t kOther = 0;

  explicit CallPaths(std::size_t limit) : limit_(limit) { nodes_.emplace_back(); }

  std::uint32_t add_root() { return add(CallNode::kNone, 0); }

  // The node of `function` called from `parent`.
  std::uint32_t child(std::uint32_t parent, std::uint32_t function) {
    if (parent == kOther) return kOther;
    std::uint32_t last = nodes_[parent].last_child;
    if (last != CallNode::kNone && nodes_[last].function == function) return last;
    auto [it, fresh] = children_.try_emplace(std::uint64_t{parent} << 32 | function, kOther);
    if (fresh) it->second = add(parent, function);
    if (it->second != kOther) nodes_[parent].last_child = it->second;
    std::uint32_t found = it->second;
    if (found == kOther) children_.erase(it);
    return found;
  }

  CallNode& operator[](std::uint32_t node) { return nodes_[node]; }
  const std::vector<CallNode>& all() const { return nodes_; }

 private:
  std::uint32_t add(std::uint32_t parent, std::uint32_t function) {
    if (nodes_.size() > limit_) return kOther;
    nodes_.push_back({.parent = parent, .function = function});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  std::size_t limit_;
  std::vector<CallNode> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
};

}  // namespace hodo::analyze
