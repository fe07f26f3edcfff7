// The pieces of a queue put together so that packets can cross their seams.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/flow/decoder.h"
#include "temp_file.h"

namespace hodo::session {

// A stretch of trace data as a file holds it.
struct Part {
  std::span<const std::uint8_t> bytes;  // in a mapping of the file, which nobody writes to
  std::uint64_t offset = 0;             // in the queue's stream
  bool gap_before = false;              // data is missing before it
  std::uint64_t lost_before = 0;        // how much; 0: nobody knows
};

// Parts that follow each other without a gap become one Piece. Where there is more than one of them
// their bytes are copied into a file without a name (in TMPDIR), which is mapped: they cost disk,
// not memory, whatever their number.
class Joined {
 public:
  // io, no_space: the temporary file.
  static Result<Joined> make(std::span<const Part> parts);

  std::span<const flow::Piece> pieces() const { return pieces_; }

 private:
  std::vector<flow::Piece> pieces_;
  std::unique_ptr<TempFile> store_;
};

}  // namespace hodo::session
