// The descriptions of translated blocks, which QEMU's callbacks point to.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "hodo/unit/block.h"

namespace hodo::plugin {

class Blocks {
 public:
  // A block equal to `block` that stays where it is until collect(). Translating the same code
  // again gives the same one.
  const unit::Block* intern(const unit::Block& block);
  // The newest block at this address became a signal handler.
  void mark_handler(std::uint64_t start);
  // QEMU has dropped all translated code: frees what `in_use` does not ask to keep.
  void collect(
      const std::function<bool(const unit::Block* first, const unit::Block* last)>& in_use);

 private:
  static constexpr std::size_t kChunk = 1024;
  using Chunk = std::array<unit::Block, kChunk>;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::size_t used_ = kChunk;  // in the last chunk
  std::unordered_map<std::uint64_t, unit::Block*> newest_;
};

}  // namespace hodo::plugin
