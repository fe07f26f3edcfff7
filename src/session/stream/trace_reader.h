// The bytes of a queue, in the parts in which a file has them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "hodo/base/result.h"

namespace hodo::session {

// A stretch of trace data as a file holds it.
struct Part {
  std::uint64_t file_offset = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;       // in the queue's stream
  bool gap_before = false;        // data is missing before it
  std::uint64_t lost_before = 0;  // how much; 0: nobody knows
  bool altered_before = false;    // what is missing is in the file, but not as it was recorded
};

// From `begin` up to, not with, `end` of a queue's stream.
struct StreamRange {
  std::uint64_t begin = 0;
  std::uint64_t end = ~std::uint64_t{0};
};

// What of `parts` is in `range`. An empty part at the stream's beginning says that what follows
// comes after a gap.
std::vector<Part> within(std::vector<Part> parts, StreamRange range);

class TraceReader {
 public:
  virtual ~TraceReader() = default;
  // In their order.
  virtual std::span<const Part> parts() const = 0;
  // Fills all of `out` from the file's bytes at `offset`. All bytes of the parts have to be read,
  // each once and in order. Errors: io, truncated.
  virtual Status read(std::uint64_t offset, std::span<std::uint8_t> out) = 0;
  // What of the parts is as it was recorded, when all was read. Errors: as read.
  virtual Result<std::vector<Part>> unaltered() = 0;
};

// Where nothing tells what was recorded.
class PlainTrace final : public TraceReader {
 public:
  using Read = std::function<Status(std::uint64_t offset, std::span<std::uint8_t> out)>;

  PlainTrace(std::vector<Part> parts, Read read)
      : parts_(std::move(parts)), read_(std::move(read)) {}
  std::span<const Part> parts() const override { return parts_; }
  Status read(std::uint64_t offset, std::span<std::uint8_t> out) override {
    return read_(offset, out);
  }
  Result<std::vector<Part>> unaltered() override { return parts_; }

 private:
  std::vector<Part> parts_;
  Read read_;
};

}  // namespace hodo::session
