#include "checked_trace.h"

#include <algorithm>
#include <utility>

#include "trace_parts.h"

namespace hodo::session {

CheckedTrace::CheckedTrace(const perfdata::Reader& file, const perfdata::AuxQueue& queue,
                           StreamRange range)
    : file_(file), queue_(queue), range_(range), parts_(within(written_parts(queue), range)) {
  if (!queue.pieces.empty()) left_ = wanted_of(queue.pieces[0]).size;
}

// What of the piece is in the range.
perfdata::Stretch CheckedTrace::wanted_of(const perfdata::AuxPiece& piece) const {
  const std::uint64_t begin = std::max(range_.begin, piece.aux_offset) - piece.aux_offset;
  const std::uint64_t end = std::max(range_.end, piece.aux_offset) - piece.aux_offset;
  if (begin >= std::min(end, piece.size)) return {};
  return {begin, std::min(end, piece.size) - begin};
}

void CheckedTrace::go_to_next_piece() {
  ++piece_;
  left_ = piece_ < queue_.pieces.size() ? wanted_of(queue_.pieces[piece_]).size : 0;
}

Status CheckedTrace::read(std::uint64_t offset, std::span<std::uint8_t> out) {
  if (Status status = file_.read(offset, out); !status) return status;
  return check(out);
}

Status CheckedTrace::check(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty() && piece_ < queue_.pieces.size()) {
    if (left_ == 0) {
      go_to_next_piece();
      continue;
    }
    const perfdata::AuxPiece& piece = queue_.pieces[piece_];
    if (!check_) {
      auto begun = perfdata::SumCheck::begin(file_, piece, wanted_of(piece));
      if (!begun) return std::unexpected(begun.error());
      check_.emplace(std::move(*begun));
    }
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    check_->add(bytes.first(size));
    bytes = bytes.subspan(size);
    left_ -= size;
    if (left_ != 0) continue;
    auto altered = check_->finish();
    check_.reset();
    if (!altered) return std::unexpected(altered.error());
    if (!altered->empty()) altered_.emplace(piece_, std::move(*altered));
  }
  return {};
}

Result<std::vector<Part>> CheckedTrace::unaltered() {
  if (altered_.empty()) return parts_;
  return within(parts_without(queue_, altered_), range_);
}

Result<std::vector<Part>> unaltered_parts(const perfdata::Reader& file,
                                          const perfdata::AuxQueue& queue) {
  std::map<std::size_t, std::vector<perfdata::Stretch>> altered;
  for (std::size_t i = 0; i < queue.pieces.size(); ++i) {
    auto found = perfdata::altered(file, queue.pieces[i]);
    if (!found) return std::unexpected(found.error());
    if (!found->empty()) altered.emplace(i, std::move(*found));
  }
  return parts_without(queue, altered);
}

}  // namespace hodo::session
