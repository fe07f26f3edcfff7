// Where a program has been: what to give to Decoder::cover().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "hodo/flow/decoder.h"

namespace hodo::flow {

// An AFL-style map: a byte for each hash of (from, to) that counts how often an edge with this hash
// ran, up to 255, where it stays. Edges without one of the two addresses (begin, end, gaps) are
// left out.
class Bitmap final : public EdgeSink {
 public:
  // The caller's map, whose counts are added to; its size must be a power of two, at least 1.
  explicit Bitmap(std::span<std::uint8_t> map) : map_(map) {}

  void on_edges(std::span<const EdgeCount> edges) override;

  // Where an edge counts in a map of `size` bytes: for reading maps. The same in every run.
  static std::size_t index(std::uint64_t from, std::uint64_t to, std::size_t size) {
    const std::uint64_t hash = (from * 0x9e3779b97f4a7c15u ^ to) * 0xd6e8feb86659fd93u;
    return static_cast<std::size_t>(hash >> 32) & (size - 1);
  }

 private:
  std::span<std::uint8_t> map_;
};

// Every edge with its exact count, begins and ends included.
class EdgeSet final : public EdgeSink {
 public:
  void on_edges(std::span<const EdgeCount> edges) override;

  // Sorted by from, to, kind and flags; no two are equal in all of them.
  std::vector<EdgeCount> edges() const;

 private:
  struct Key {
    std::uint64_t from;
    std::uint64_t to;
    BranchKind kind;
    std::uint8_t flags;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, std::uint64_t, Hash> counts_;
};

// Every basic block that was entered, by its first address, with the exact count. A block begins
// where an edge leads, be it by falling through.
class BlockSet final : public EdgeSink {
 public:
  void on_edges(std::span<const EdgeCount> edges) override;

  // Address to number of entries.
  const std::map<std::uint64_t, std::uint64_t>& blocks() const { return counts_; }

 private:
  std::map<std::uint64_t, std::uint64_t> counts_;
};

// How far the block that begins at an address reaches: through the next instruction that is a
// branch.
struct BlockExtent {
  std::uint64_t bytes = 0;
  std::uint32_t instructions = 0;
};
// nullopt: there is no instruction. A block that leaves the known code, or is longer than 64 KiB,
// ends there.
std::optional<BlockExtent> block_extent(const image::CodeSource& code, std::uint64_t address,
                                        isa::Mode mode, std::uint64_t time = 0);

}  // namespace hodo::flow
