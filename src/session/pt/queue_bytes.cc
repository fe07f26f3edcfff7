#include "queue_bytes.h"

#include <algorithm>

namespace hodo::session {
namespace {

// Read at once, on the way into a temporary file.
constexpr std::uint64_t kChunk = 1 << 20;

std::uint64_t size_of(std::span<const Part> parts) {
  std::uint64_t size = 0;
  for (const Part& part : parts) size += part.size;
  return size;
}

Status append(TempFile& file, const Part& part, TraceReader& trace,
              std::vector<std::uint8_t>& buffer) {
  for (std::uint64_t at = 0; at < part.size; at += buffer.size()) {
    buffer.resize(static_cast<std::size_t>(std::min(kChunk, part.size - at)));
    if (Status status = trace.read(part.file_offset + at, buffer); !status) return status;
    if (Status status = file.append(buffer); !status) return status;
  }
  return {};
}

// Where the copy has the bytes of parts, which are asked for in order.
class Places {
 public:
  Places(std::span<const Part> copied, std::span<const std::uint8_t> bytes)
      : copied_(copied), bytes_(bytes) {}

  // `part` is one of those that were copied, or a stretch of one.
  std::span<const std::uint8_t> of(const Part& part) {
    while (!copied_.empty() && !is_in(part, copied_.front())) {
      bytes_ = bytes_.subspan(static_cast<std::size_t>(copied_.front().size));
      copied_ = copied_.subspan(1);
    }
    if (copied_.empty()) return {};
    const std::uint64_t skip = part.offset - copied_.front().offset;
    return bytes_.subspan(static_cast<std::size_t>(skip), static_cast<std::size_t>(part.size));
  }

 private:
  static bool is_in(const Part& part, const Part& whole) {
    const std::uint64_t skip = part.offset - whole.offset;
    return part.file_offset - whole.file_offset == skip && skip <= whole.size &&
           part.size <= whole.size - skip;
  }

  std::span<const Part> copied_;
  std::span<const std::uint8_t> bytes_;  // from the first of `copied_` on
};

}  // namespace

// All bytes of the trace's parts, one after the other.
Result<std::span<const std::uint8_t>> QueueBytes::copy(TraceReader& trace,
                                                       std::uint64_t in_memory) {
  const std::span<const Part> parts = trace.parts();
  const std::uint64_t size = size_of(parts);
  if (size <= in_memory) {
    memory_.resize(static_cast<std::size_t>(size));
    std::span<std::uint8_t> rest = memory_;
    for (const Part& part : parts) {
      const auto length = static_cast<std::size_t>(part.size);
      if (Status status = trace.read(part.file_offset, rest.first(length)); !status) {
        return std::unexpected(status.error());
      }
      rest = rest.subspan(length);
    }
    return std::span<const std::uint8_t>(memory_);
  }
  file_ = std::make_unique<TempFile>();
  if (Status status = file_->open(); !status) return std::unexpected(status.error());
  std::vector<std::uint8_t> buffer;
  for (const Part& part : parts) {
    Status status = append(*file_, part, trace, buffer);
    if (!status) return std::unexpected(status.error());
  }
  return file_->map();
}

Result<QueueBytes> QueueBytes::make(TraceReader& trace, std::uint64_t in_memory,
                                    std::vector<std::uint8_t> room) {
  QueueBytes joined;
  joined.memory_ = std::move(room);
  const auto copied = joined.copy(trace, in_memory);
  if (!copied) return std::unexpected(copied.error());
  const auto parts = trace.unaltered();
  if (!parts) return std::unexpected(parts.error());
  Places places(trace.parts(), *copied);
  for (const Part& part : *parts) {
    const std::span<const std::uint8_t> bytes = places.of(part);
    if (joined.pieces_.empty() || part.gap_before) {
      joined.pieces_.push_back({.bytes = bytes,
                                .offset = part.offset,
                                .lost_before = part.lost_before,
                                .altered_before = part.altered_before});
    } else {
      flow::Piece& piece = joined.pieces_.back();
      piece.bytes = {piece.bytes.data(), piece.bytes.size() + bytes.size()};
    }
  }
  if (joined.file_) joined.behind_.emplace(joined.pieces_);
  return joined;
}

void QueueBytes::done(std::uint64_t offset) {
  if (behind_) behind_->done(offset);
}

}  // namespace hodo::session
