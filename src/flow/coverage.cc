#include "hodo/flow/coverage.h"

#include <algorithm>
#include <tuple>

#include "block_cache.h"

namespace hodo::flow {

void Bitmap::on_edges(std::span<const EdgeCount> edges) {
  constexpr std::uint64_t kMost = 255;
  for (const EdgeCount& edge : edges) {
    if (edge.from == 0 || edge.to == 0) continue;
    std::uint8_t& byte = map_[index(edge.from, edge.to, map_.size())];
    byte = static_cast<std::uint8_t>(byte + std::min(edge.count, kMost - byte));
  }
}

std::size_t EdgeSet::Hash::operator()(const Key& key) const {
  std::uint64_t hash = key.from * 0x9e3779b97f4a7c15u ^ key.to;
  hash ^= static_cast<std::uint64_t>(key.kind) << 56 | std::uint64_t{key.flags} << 48;
  hash *= 0xd6e8feb86659fd93u;
  return static_cast<std::size_t>(hash ^ hash >> 32);
}

void EdgeSet::on_edges(std::span<const EdgeCount> edges) {
  for (const EdgeCount& edge : edges) {
    counts_[{edge.from, edge.to, edge.kind, edge.flags}] += edge.count;
  }
}

std::vector<EdgeCount> EdgeSet::edges() const {
  std::vector<EdgeCount> out;
  out.reserve(counts_.size());
  for (const auto& [key, count] : counts_) {
    out.push_back({key.from, key.to, count, key.kind, key.flags});
  }
  std::ranges::sort(out, {}, [](const EdgeCount& edge) {
    return std::tuple(edge.from, edge.to, edge.kind, edge.flags);
  });
  return out;
}

void BlockSet::on_edges(std::span<const EdgeCount> edges) {
  for (const EdgeCount& edge : edges) {
    if (edge.to != 0 && (edge.flags & kTraceEnd) == 0) counts_[edge.to] += edge.count;
  }
}

std::optional<BlockExtent> block_extent(const image::CodeSource& code, std::uint64_t address,
                                        isa::Mode mode, std::uint64_t time) {
  constexpr std::uint64_t kMost = 64 << 10;
  BlockCache blocks(code);
  BlockExtent extent;
  while (extent.bytes < kMost) {
    const Block* block = blocks.at(wrap(address + extent.bytes, mode), mode, time);
    if (block == nullptr) break;
    extent.bytes += block->size;
    extent.instructions += block->insns;
    if (isa::is_branch(block->cls) || block->cls == isa::InsnClass::vmentry ||
        block->cls == isa::InsnClass::vmexit) {
      break;
    }
  }
  if (extent.bytes == 0) return std::nullopt;
  return extent;
}

}  // namespace hodo::flow
