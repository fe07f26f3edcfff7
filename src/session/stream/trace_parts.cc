#include "trace_parts.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace hodo::session {
namespace {

// Offsets at which the stream must be cut: behind each AUX record whose end was lost.
std::vector<std::uint64_t> cuts_of(const perfdata::AuxQueue& queue) {
  std::vector<std::uint64_t> cuts;
  for (const perfdata::AuxEvent& event : queue.flagged) {
    if (truncates(event)) cuts.push_back(event.aux_offset + event.aux_size);
  }
  std::ranges::sort(cuts);
  return cuts;
}

// Appends a piece, divided where data was lost inside of it.
void append_parts(std::vector<Part>& parts, Part part, const std::vector<std::uint64_t>& cuts) {
  auto cut = std::ranges::lower_bound(cuts, part.offset);
  if (cut != cuts.end() && *cut == part.offset) part.gap_before = !parts.empty();
  cut = std::ranges::upper_bound(cuts, part.offset);
  for (; cut != cuts.end() && *cut - part.offset < part.size; ++cut) {
    const std::uint64_t size = *cut - part.offset;
    if (size == 0) continue;
    Part head = part;
    head.size = size;
    parts.push_back(head);
    part = {.file_offset = part.file_offset + size,
            .size = part.size - size,
            .offset = *cut,
            .gap_before = true};
  }
  parts.push_back(part);
}

// `end`: of the piece before.
Part part_of(const perfdata::AuxPiece& piece, std::uint64_t end) {
  Part part{.file_offset = piece.file_offset,
            .size = piece.size,
            .offset = piece.aux_offset,
            .gap_before = piece.gap_before};
  if (piece.gap_before && piece.aux_offset > end) part.lost_before = piece.aux_offset - end;
  return part;
}

// Appends the first `kept` bytes of a part, and gives what comes behind the next `size`. A stream
// that begins with such a gap has an empty part before it.
Part leave_out(std::vector<Part>& parts, Part part, std::uint64_t kept, std::uint64_t size,
               const std::vector<std::uint64_t>& cuts) {
  Part head = part;
  head.size = kept;
  if (kept != 0 || parts.empty()) append_parts(parts, head, cuts);
  const std::uint64_t skip = kept + size;
  return {.file_offset = part.file_offset + skip,
          .size = part.size - skip,
          .offset = part.offset + skip,
          .gap_before = true,
          .lost_before = size,
          .altered_before = true};
}

}  // namespace

bool truncates(const perfdata::AuxEvent& event) {
  return (event.flags & PERF_AUX_FLAG_TRUNCATED) != 0;
}

std::vector<Part> written_parts(const perfdata::AuxQueue& queue) {
  return parts_without(queue, {});
}

std::vector<Part> parts_without(
    const perfdata::AuxQueue& queue,
    const std::map<std::size_t, std::vector<perfdata::Stretch>>& altered) {
  const std::vector<std::uint64_t> cuts = cuts_of(queue);
  std::vector<Part> parts;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < queue.pieces.size(); ++i) {
    const perfdata::AuxPiece& piece = queue.pieces[i];
    Part rest = part_of(piece, std::exchange(end, piece.aux_offset + piece.size));
    if (const auto found = altered.find(i); found != altered.end()) {
      for (const perfdata::Stretch& stretch : found->second) {
        const std::uint64_t kept = stretch.begin - (rest.offset - piece.aux_offset);
        rest = leave_out(parts, rest, kept, stretch.size, cuts);
      }
    }
    // Also where nothing is left: the gap at the end of the stream is in front of it.
    append_parts(parts, rest, cuts);
  }
  return parts;
}

}  // namespace hodo::session
