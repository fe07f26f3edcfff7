#include "joined.h"

#include <utility>

#include "read_behind.h"

namespace hodo::session {
namespace {

// A run of parts without a gap: [first, last).
struct Run {
  std::size_t first = 0;
  std::size_t last = 0;
  std::uint64_t bytes = 0;
};

std::vector<Run> runs_of(std::span<const Part> parts) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == 0 || parts[i].gap_before) runs.push_back({.first = i});
    runs.back().last = i + 1;
    runs.back().bytes += parts[i].bytes.size();
  }
  return runs;
}

// Both and the few records between them, which lie on pages of theirs; else the second alone.
std::span<const std::uint8_t> with_next(std::span<const std::uint8_t> first,
                                        std::span<const std::uint8_t> second) {
  constexpr std::uintptr_t kNear = 1 << 16;
  const auto end = reinterpret_cast<std::uintptr_t>(first.data()) + first.size();
  const auto next = reinterpret_cast<std::uintptr_t>(second.data());
  if (first.empty() || next < end || next - end > kNear) return second;
  return {first.data(), first.size() + (next - end) + second.size()};
}

}  // namespace

Result<Joined> Joined::make(std::span<const Part> parts) {
  Joined joined;
  std::vector<Run> runs = runs_of(parts);
  std::span<const std::uint8_t> copied;
  for (const Run& run : runs) {
    if (run.last - run.first < 2 || run.bytes == 0) continue;
    if (!joined.store_) {
      joined.store_ = std::make_unique<TempFile>();
      if (Status status = joined.store_->open(); !status) return std::unexpected(status.error());
    }
    std::span<const std::uint8_t> read;  // parts that lie next to each other
    for (const Part& part : parts.subspan(run.first, run.last - run.first)) {
      Status status = joined.store_->append(part.bytes);
      if (!status) return std::unexpected(status.error());
      read = with_next(read, part.bytes);
      release_pages(read);
      read = part.bytes;
    }
  }
  if (joined.store_) {
    auto mapped = joined.store_->map();
    if (!mapped) return std::unexpected(mapped.error());
    copied = *mapped;
  }
  for (const Run& run : runs) {
    const Part& head = parts[run.first];
    flow::Piece piece{.bytes = head.bytes, .offset = head.offset, .lost_before = head.lost_before};
    if (run.last - run.first >= 2 && run.bytes != 0) {
      piece.bytes = copied.first(run.bytes);
      copied = copied.subspan(run.bytes);
    }
    joined.pieces_.push_back(piece);
  }
  return joined;
}

}  // namespace hodo::session
