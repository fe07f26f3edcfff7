// The descriptions of a virtual machine's translated blocks, which QEMU's callbacks point to.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "hodo/unit/block.h"

namespace hodo::plugin {

// One translation may be executed in several address spaces, wherever they share the page.
struct CodeBlock {
  unit::Block block;
  // The last one whose recorder knows the code; see Space::id. Of the kernel's code the epoch; see
  // KernelCode.
  std::uint32_t space = 0;
  // As they were translated, which is what runs: memory may hold others since.
  std::vector<std::uint8_t> bytes;
};

class CodeBlocks {
 public:
  // A copy that stays where it is until collect().
  CodeBlock* add(const unit::Block& block, std::span<const std::uint8_t> bytes);
  // QEMU has dropped all translated code: frees what `in_use` does not ask to keep.
  void collect(const std::function<bool(const void* first, const void* last)>& in_use);

 private:
  static constexpr std::size_t kChunk = 1024;
  using Chunk = std::array<CodeBlock, kChunk>;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::size_t used_ = kChunk;  // in the last chunk
};

}  // namespace hodo::plugin
