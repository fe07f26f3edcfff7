#include "blocks.h"

#include <algorithm>
#include <cstring>

namespace hodo::plugin {

const unit::Block* Blocks::intern(const unit::Block& block) {
  const std::lock_guard lock(mutex_);
  unit::Block*& newest = newest_[block.start];
  if (newest != nullptr && std::memcmp(newest, &block, sizeof(block)) == 0) return newest;
  if (used_ == kChunk) {
    chunks_.push_back(std::make_unique<Chunk>());
    used_ = 0;
  }
  newest = &(*chunks_.back())[used_++];
  *newest = block;
  return newest;
}

void Blocks::mark_handler(std::uint64_t start) {
  const std::lock_guard lock(mutex_);
  const auto found = newest_.find(start);
  // A byte that the running thread may read at the same time; either value is right until the
  // system call that installs the handler has returned.
  if (found != newest_.end()) found->second->flags |= unit::Block::kHandler;
}

void Blocks::collect(const std::function<bool(const unit::Block*, const unit::Block*)>& in_use) {
  const std::lock_guard lock(mutex_);
  newest_.clear();
  used_ = kChunk;
  std::erase_if(chunks_, [&](const std::unique_ptr<Chunk>& chunk) {
    return !in_use(chunk->data(), chunk->data() + kChunk);
  });
}

}  // namespace hodo::plugin
