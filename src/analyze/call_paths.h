// The tree of distinct call paths.
#pragma once

#include <cstdint>
#include <utility>
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
    std::size_t at = slot(parent, function);
    for (; table_[at] != kOther; at = (at + 1) & (table_.size() - 1)) {
      const CallNode& node = nodes_[table_[at]];
      if (node.parent == parent && node.function == function) {
        return nodes_[parent].last_child = table_[at];
      }
    }
    const std::uint32_t node = add(parent, function);
    if (node == kOther) return kOther;
    nodes_[parent].last_child = table_[at] = node;
    if (2 * ++used_ > table_.size()) grow();
    return node;
  }

  CallNode& operator[](std::uint32_t node) { return nodes_[node]; }
  const std::vector<CallNode>& all() const { return nodes_; }

 private:
  std::uint32_t add(std::uint32_t parent, std::uint32_t function) {
    if (nodes_.size() > limit_) return kOther;
    nodes_.push_back({.parent = parent, .function = function});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  std::size_t slot(std::uint32_t parent, std::uint32_t function) const {
    const std::uint64_t key = std::uint64_t{parent} << 32 | function;
    return static_cast<std::size_t>(key * 0x9e3779b97f4a7c15 >> 32) & (table_.size() - 1);
  }
  void grow() {
    const std::vector<std::uint32_t> old =
        std::exchange(table_, std::vector<std::uint32_t>(2 * table_.size(), kOther));
    for (const std::uint32_t node : old) {
      if (node == kOther) continue;
      std::size_t at = slot(nodes_[node].parent, nodes_[node].function);
      while (table_[at] != kOther) at = (at + 1) & (table_.size() - 1);
      table_[at] = node;
    }
  }

  static constexpr std::size_t kFirstSize = 1 << 10;

  std::size_t limit_;
  std::vector<CallNode> nodes_;
  // Nodes that have a parent by that and their function: open addressing, at most half full.
  std::vector<std::uint32_t> table_ = std::vector<std::uint32_t>(kFirstSize, kOther);
  std::size_t used_ = 0;
};

}  // namespace hodo::analyze
