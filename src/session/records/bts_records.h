// A stream of BTS records, in pieces of any size, as recorded branches.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "hodo/base/result.h"
#include "hodo/hw/bts.h"
#include "record_path.h"

namespace hodo::session {

// Records of one layout. A record that lies in two pieces is put together.
class BtsRecords {
 public:
  BtsRecords(hw::DsLayout layout, RecordPath& path)
      : layout_(layout), size_(hw::bts_record_bytes(layout)), path_(path) {}

  // The next bytes of the stream, which lie at `offset` of it.
  void add(std::span<const std::uint8_t> bytes, std::uint64_t offset);
  // The stream goes on elsewhere: forgets a record that has begun. Gives the bytes it had.
  std::size_t cut();

 private:
  template <class Word>
  std::size_t add_whole(std::span<const std::uint8_t> bytes, std::uint64_t offset);

  hw::DsLayout layout_;
  std::size_t size_;
  RecordPath& path_;
  std::array<std::uint8_t, sizeof(hw::BtsRecord)> begun_{};
  std::size_t begun_size_ = 0;
};

// Which layout the bytes look like: addresses are canonical, and of the flags only bit 4 is ever
// set. malformed: neither fits.
Result<hw::DsLayout> detect_layout(std::span<const std::uint8_t> bytes);

}  // namespace hodo::session
