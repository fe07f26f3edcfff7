// Keeps a long decoding in little memory: pages of the mapped trace that were read are let go.
#pragma once

#include <cstdint>
#include <span>

#include "hodo/flow/decoder.h"

namespace hodo::session {

class ReadBehind {
 public:
  // The pieces lie in a mapping of a file, which nobody writes to: its pages can be read again.
  // Both must outlive this.
  explicit ReadBehind(std::span<const flow::Piece> pieces) : pieces_(pieces) {}

  // Everything before `offset` of the stream has been read.
  void done(std::uint64_t offset);

 private:
  std::span<const flow::Piece> pieces_;
  std::size_t current_ = 0;   // the first piece that is not let go
  std::size_t released_ = 0;  // of its bytes
};

}  // namespace hodo::session
