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

Status append(TempFile& file, const Part& part, const ReadTrace& read,
              std::vector<std::uint8_t>& buffer) {
  for (std::uint64_t at = 0; at < part.size; at += buffer.size()) {
    buffer.resize(static_cast<std::size_t>(std::min(kChunk, part.size - at)));
    if (Status status = read(part.file_offset + at, buffer); !status) return status;
    if (Status status = file.append(buffer); !status) return status;
  }
  return {};
}

}  // namespace

// All bytes of `parts`, one after the other.
Result<std::span<const std::uint8_t>> QueueBytes::copy(std::span<const Part> parts,
                                                       const ReadTrace& read,
                                                       std::uint64_t in_memory) {
  const std::uint64_t size = size_of(parts);
  if (size <= in_memory) {
    memory_.resize(static_cast<std::size_t>(size));
    std::span<std::uint8_t> rest = memory_;
    for (const Part& part : parts) {
      const auto length = static_cast<std::size_t>(part.size);
      if (Status status = read(part.file_offset, rest.first(length)); !status) {
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
    Status status = append(*file_, part, read, buffer);
    if (!status) return std::unexpected(status.error());
  }
  return file_->map();
}

Result<QueueBytes> QueueBytes::make(std::span<const Part> parts, const ReadTrace& read,
                                    std::uint64_t in_memory) {
  QueueBytes joined;
  auto copied = joined.copy(parts, read, in_memory);
  if (!copied) return std::unexpected(copied.error());
  const std::uint8_t* at = copied->data();
  for (const Part& part : parts) {
    const auto size = static_cast<std::size_t>(part.size);
    if (joined.pieces_.empty() || part.gap_before) {
      joined.pieces_.push_back(
          {.bytes = {at, size}, .offset = part.offset, .lost_before = part.lost_before});
    } else {
      flow::Piece& piece = joined.pieces_.back();
      piece.bytes = {piece.bytes.data(), piece.bytes.size() + size};
    }
    at += size;
  }
  if (joined.file_) joined.behind_.emplace(joined.pieces_);
  return joined;
}

void QueueBytes::done(std::uint64_t offset) {
  if (behind_) behind_->done(offset);
}

}  // namespace hodo::session
