// The pieces of a queue put together so that packets can cross their seams.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/flow/decoder.h"
#include "read_behind.h"
#include "temp_file.h"

namespace hodo::session {

// A stretch of trace data as a file holds it.
struct Part {
  std::uint64_t file_offset = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;       // in the queue's stream
  bool gap_before = false;        // data is missing before it
  std::uint64_t lost_before = 0;  // how much; 0: nobody knows
};

// Fills all of `out` from the file's bytes at `offset`. Errors: io, truncated.
using ReadTrace = std::function<Status(std::uint64_t offset, std::span<std::uint8_t> out)>;

// Parts that follow each other without a gap become one Piece. Their bytes are copied, since nobody
// can say what becomes of the file meanwhile: into memory if they are few, else into a file without
// a name (in TMPDIR), which is mapped. So a long trace costs disk, not memory.
class QueueBytes {
 public:
  static constexpr std::uint64_t kInMemory = 16 << 20;

  // More than `in_memory` bytes go to a file. Errors: as `read`; io, no_space: the temporary file.
  static Result<QueueBytes> make(std::span<const Part> parts, const ReadTrace& read,
                                 std::uint64_t in_memory = kInMemory);

  std::span<const flow::Piece> pieces() const { return pieces_; }
  // Everything before `offset` of the stream has been read: what lies in a file need not stay in
  // memory.
  void done(std::uint64_t offset);

 private:
  Result<std::span<const std::uint8_t>> copy(std::span<const Part> parts, const ReadTrace& read,
                                             std::uint64_t in_memory);

  std::vector<flow::Piece> pieces_;
  std::vector<std::uint8_t> memory_;
  std::unique_ptr<TempFile> file_;
  std::optional<ReadBehind> behind_;
};

}  // namespace hodo::session
