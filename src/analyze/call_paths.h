// The tree of distinct call paths.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hodo/analyze/call_tree.h"

namespace hodo::analyze {

class CallPaths {
 public:
  static constexpr std::uint32_t kOther = 0;

  // Room for all is asked for at once: what is not used of it takes no memory, and nodes are never
  // copied.
  explicit CallPaths(std::size_t limit) : limit_(limit) {
    nodes_.reserve(std::min<std::size_t>(limit, kNodeMask) + 1);
    nodes_.emplace_back();
  }

  std::uint32_t add_root() { return add(CallNode::kNone, 0); }

  // The node of `function` called from `parent`.
  std::uint32_t child(std::uint32_t parent, std::uint32_t function) {
    if (parent == kOther) return kOther;
    // Nodes lie in no order, so that each that is looked at costs a wait for memory: but for these,
    // which were looked at lately or are what is looked for.
    const std::uint32_t last = nodes_[parent].last_child;
    if (last == CallNode::kNone) return enter(parent, last, look_up(parent, function));
    if (nodes_[last].function == function) return last;
    const std::uint32_t next = nodes_[last].entered_next;
    if (next != CallNode::kNone && nodes_[next].function == function) {
      return nodes_[parent].last_child = next;
    }
    return enter(parent, last, look_up(parent, function));
  }

  CallNode& operator[](std::uint32_t node) { return nodes_[node]; }
  const std::vector<CallNode>& all() const { return nodes_; }

 private:
  // A child that was entered after another, if any.
  std::uint32_t enter(std::uint32_t parent, std::uint32_t before, std::uint32_t child) {
    if (child == kOther) return kOther;
    nodes_[parent].last_child = child;
    if (before != CallNode::kNone) nodes_[before].entered_next = child;
    return child;
  }

  [[gnu::noinline]] std::uint32_t look_up(std::uint32_t parent, std::uint32_t function) {
    const std::uint64_t hash = hash_of(parent, function);
    std::size_t at = slot(hash);
    for (; table_[at] != kFree; at = (at + 1) & (table_.size() - 1)) {
      if (((table_[at] ^ tagged(kOther, hash)) & ~kNodeMask) != 0) continue;
      const CallNode& node = nodes_[table_[at] & kNodeMask];
      if (node.parent == parent && node.function == function) {
        return table_[at] & kNodeMask;
      }
    }
    const std::uint32_t node = add(parent, function);
    if (node == kOther) return kOther;
    table_[at] = tagged(node, hash);
    if (2 * ++used_ > table_.size()) grow();
    return node;
  }

  std::uint32_t add(std::uint32_t parent, std::uint32_t function) {
    if (nodes_.size() > limit_ || nodes_.size() > kNodeMask) return kOther;
    nodes_.push_back({.parent = parent, .function = function});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  static std::uint64_t hash_of(std::uint32_t parent, std::uint32_t function) {
    return (std::uint64_t{parent} << 32 | function) * 0x9e3779b97f4a7c15;
  }
  std::size_t slot(std::uint64_t hash) const {
    return static_cast<std::size_t>(hash >> 32) & (table_.size() - 1);
  }
  // With bits of the hash that its place does not tell.
  static std::uint32_t tagged(std::uint32_t node, std::uint64_t hash) {
    return node | (static_cast<std::uint32_t>(hash >> 32) & ~kNodeMask);
  }
  void grow() {
    const std::vector<std::uint32_t> old =
        std::exchange(table_, std::vector<std::uint32_t>(2 * table_.size(), kFree));
    for (const std::uint32_t entry : old) {
      if (entry == kFree) continue;
      const CallNode& node = nodes_[entry & kNodeMask];
      std::size_t at = slot(hash_of(node.parent, node.function));
      while (table_[at] != kFree) at = (at + 1) & (table_.size() - 1);
      table_[at] = entry;
    }
  }

  static constexpr std::size_t kFirstSize = 1 << 10;
  static constexpr std::uint32_t kNodeMask = (1 << 21) - 1;
  static constexpr std::uint32_t kFree = 0;  // no table has the node kOther

  std::size_t limit_;
  std::vector<CallNode> nodes_;
  // Nodes that have a parent by that and their function, tagged: open addressing, at most half
  // full.
  std::vector<std::uint32_t> table_ = std::vector<std::uint32_t>(kFirstSize, kFree);
  std::size_t used_ = 0;
};

}  // namespace hodo::analyze
