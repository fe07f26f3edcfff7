// The pieces of a queue put together so that packets can cross their seams.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/flow/decoder.h"
#include "hodo/session/temp_file.h"
#include "read_behind.h"
#include "stream/trace_reader.h"

namespace hodo::session {

// Parts that follow each other without a gap become one Piece. Their bytes are copied, since nobody
// can say what becomes of the file meanwhile: into memory if they are few, else into a file without
// a name (in TMPDIR), which is mapped.
class QueueBytes {
 public:
  static constexpr std::uint64_t kInMemory = 8 << 20;

  // More than `in_memory` bytes go to a file; fewer into `room`, whatever it holds. Errors: as
  // TraceReader's; io, no_space: the temporary file.
  static Result<QueueBytes> make(TraceReader& trace, std::uint64_t in_memory = kInMemory,
                                 std::vector<std::uint8_t> room = {});

  std::span<const flow::Piece> pieces() const { return pieces_; }
  // Everything before `offset` of the stream has been read: what lies in a file need not stay in
  // memory.
  void done(std::uint64_t offset);
  // For others to use when this is not used any more.
  std::vector<std::uint8_t> room() && { return std::move(memory_); }

 private:
  Result<std::span<const std::uint8_t>> copy(TraceReader& trace, std::uint64_t in_memory);

  std::vector<flow::Piece> pieces_;
  std::vector<std::uint8_t> memory_;
  std::unique_ptr<TempFile> file_;
  std::optional<ReadBehind> behind_;
};

}  // namespace hodo::session
