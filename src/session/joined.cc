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
    for (const Part& part : parts.subspan(run.first, run.last - run.first)) {
      Status status = joined.store_->append(part.bytes);
      if (!status) return std::unexpected(status.error());
      release_pages(part.bytes);
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
