// Sums of trace data, by which a reader finds bytes that are not those that were written. The data
// itself does not tell: a packet with one bit changed is mostly a packet, too, and leads to a path
// that never was.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/perfdata/model.h"

namespace hodo::perfdata {

// Whether the processor has an instruction for it (SSE4.2).
bool has_crc_instruction();

// CRC-32C (RFC 3720, B.4) of `bytes`, which come behind those that gave `before`.
std::uint32_t crc32c(std::span<const std::uint8_t> bytes, std::uint32_t before = 0,
                     bool by_instruction = has_crc_instruction());

// A sum for each block of data that comes in pieces of any size. The last block may be shorter.
class BlockSums {
 public:
  // A whole number of BTS records.
  static constexpr std::uint32_t kBlock = 3072;
  // Of a file. A reader holds up to one block in memory.
  static constexpr std::uint32_t kLargest = 1 << 20;

  explicit BlockSums(std::uint32_t block = kBlock) : block_(block) {}
  void add(std::span<const std::uint8_t> bytes);
  // Call once, at the end.
  std::vector<std::uint32_t> finish();

 private:
  std::uint32_t block_;
  std::uint32_t sum_ = 0;
  std::uint32_t filled_ = 0;
  std::vector<std::uint32_t> sums_;
};

// How many blocks there are in so many bytes.
std::uint64_t blocks_of(std::uint64_t size, std::uint32_t block);

// A stretch of a piece's bytes, counted from its first one.
struct Stretch {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

// Holds a stretch of a piece's bytes against the sums that were written with them. Where the file
// has none, as perf's have none, nothing is found.
class SumCheck {
 public:
  // Reads what of the first block lies in front of the stretch. `file` and `piece` must outlive it.
  // Errors: io, truncated.
  static Result<SumCheck> begin(const Reader& file, const AuxPiece& piece, Stretch stretch);
  // The stretch's bytes, from the first to the last.
  void add(std::span<const std::uint8_t> bytes);
  // The blocks that are not as they were written, neighbours put together, cut to the stretch. Call
  // once, when all bytes were added. Errors: io, truncated.
  Result<std::vector<Stretch>> finish();

 private:
  SumCheck(const Reader& file, const AuxPiece& piece, Stretch stretch);
  Status add_from_file(std::uint64_t begin, std::uint64_t end);

  const Reader* file_;
  const AuxPiece* piece_;
  // Of the data that the sums are of: the stretch, and its blocks as far as the file has them
  // whole.
  std::uint64_t begin_ = 0, end_ = 0;
  std::uint64_t first_ = 0, last_ = 0;
  BlockSums found_;
};

// The same of a whole piece, which is read.
Result<std::vector<Stretch>> altered(const Reader& file, const AuxPiece& piece);

}  // namespace hodo::perfdata
