// Reads Intel PT packets from bytes.
#pragma once

#include <cstdint>
#include <span>

#include "hodo/base/result.h"
#include "hodo/pt/errata.h"
#include "hodo/pt/packet.h"

namespace hodo::pt {

// What PacketReader::read() found.
enum class ReadStatus : std::uint8_t { packet, truncated, malformed };

class PacketReader {
 public:
  // The bytes must outlive the reader. `errata`: of the processor that wrote them (SKD007, SKZ84).
  explicit PacketReader(std::span<const std::uint8_t> bytes, std::size_t offset = 0,
                        const Errata& errata = {})
      : bytes_(bytes), offset_(offset), errata_(errata) {}

  // Decodes the packet at offset() and moves behind it. Errors, without moving:
  //   truncated  the bytes end inside the packet (or there are none left)
  //   malformed  no packet starts with these bytes, or its reserved bits are wrong
  Result<Packet> next();

  // The same for hot loops: no error text is built and nothing is allocated. What `packet` holds
  // without one is unspecified.
  ReadStatus read(Packet& packet);

  // Moves to the next PSB at or after offset(), out of any block; false, and to the end, if there
  // is none. Where the bytes before a PSB happen to look like its beginning (02 82), the PSB is the
  // one that ends with the run, as a reader that comes from the front would see it.
  bool sync_forward();

  // Moves behind PAD packets, if any are here, and gives their number.
  std::size_t skip_padding() {
    const std::size_t from = offset_;
    while (offset_ < bytes_.size() && bytes_[offset_] == 0) ++offset_;
    return offset_ - from;
  }

  std::size_t offset() const { return offset_; }
  // Continues at `offset`, out of any block. Behind the end is allowed: there, all is truncated.
  void seek(std::size_t offset) {
    offset_ = offset;
    in_block_ = false;
  }
  bool at_end() const { return offset_ >= bytes_.size(); }
  // Inside a BBP block: BIP packets are only valid here, and elsewhere the same bytes are TNT. Kept
  // across next(); ends with BEP and with every packet that cannot be in a block.
  bool in_block() const { return in_block_; }

 private:
  void follow_block(const Packet& packet);
  ReadStatus mend(ReadStatus status, Packet& packet) const;

  std::span<const std::uint8_t> bytes_;
  std::size_t offset_ = 0;
  bool in_block_ = false;
  bool block_items_small_ = false;
  Errata errata_;
};

}  // namespace hodo::pt
