// Reads Intel PT packets from bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "hodo/base/result.h"
#include "hodo/pt/packet.h"

namespace hodo::pt {

class PacketReader {
 public:
  // The bytes must outlive the reader.
  explicit PacketReader(std::span<const std::uint8_t> bytes, std::size_t offset = 0)
      : bytes_(bytes), offset_(offset) {}

  // Decodes the packet at offset() and moves behind it. Errors, without moving:
  //   truncated  the bytes end inside the packet (or there are none left)
  //   malformed  no packet starts with these bytes, or its reserved bits are wrong
  Result<Packet> next();

  // Moves to the next PSB at or after offset(); false, and to the end, if there is none.
  bool sync_forward();

  std::size_t offset() const { return offset_; }
  void seek(std::size_t offset) { offset_ = offset; }
  bool at_end() const { return offset_ >= bytes_.size(); }
  // Inside a BBP block: BIP packets are only valid here. Kept across next().
  bool in_block() const { return in_block_; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t offset_ = 0;
  bool in_block_ = false;
  bool block_items_small_ = false;
};

}  // namespace hodo::pt
