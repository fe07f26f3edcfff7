#include "code_blocks.h"

namespace hodo::plugin {

CodeBlock* CodeBlocks::add(const unit::Block& block, std::span<const std::uint8_t> bytes) {
  const std::lock_guard lock(mutex_);
  if (used_ == kChunk) {
    chunks_.push_back(std::make_unique<Chunk>());
    used_ = 0;
  }
  CodeBlock* added = &(*chunks_.back())[used_++];
  added->block = block;
  added->bytes.assign(bytes.begin(), bytes.end());
  return added;
}

void CodeBlocks::collect(const std::function<bool(const void*, const void*)>& in_use) {
  const std::lock_guard lock(mutex_);
  used_ = kChunk;
  std::erase_if(chunks_, [&](const std::unique_ptr<Chunk>& chunk) {
    return !in_use(chunk->data(), chunk->data() + kChunk);
  });
}

}  // namespace hodo::plugin
