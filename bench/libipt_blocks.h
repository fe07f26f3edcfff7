// Intel's libipt, its block decoder, as the yardstick.
#pragma once

#include <cstdint>
#include <span>

#include "hodo/image/code.h"

namespace hodo::bench {

// A decoder with its block cache and image, kept from pass to pass.
class LibiptBlocks {
 public:
  // All must outlive this.
  LibiptBlocks(std::span<const std::uint8_t> trace, const image::CodeSource& code);
  ~LibiptBlocks();
  LibiptBlocks(const LibiptBlocks&) = delete;
  LibiptBlocks& operator=(const LibiptBlocks&) = delete;

  // The whole trace; the number of instructions.
  std::uint64_t pass();

 private:
  struct Impl;
  Impl* impl_;
};

}  // namespace hodo::bench
