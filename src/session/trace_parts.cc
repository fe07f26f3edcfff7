#include "trace_parts.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstdint>

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

}  // namespace

bool truncates(const perfdata::AuxEvent& event) {
  return (event.flags & PERF_AUX_FLAG_TRUNCATED) != 0;
}

std::vector<Part> written_parts(const perfdata::AuxQueue& queue) {
  const std::vector<std::uint64_t> cuts = cuts_of(queue);
  std::vector<Part> parts;
  std::uint64_t end = 0;
  for (const perfdata::AuxPiece& piece : queue.pieces) {
    Part part{.file_offset = piece.file_offset,
              .size = piece.size,
              .offset = piece.aux_offset,
              .gap_before = piece.gap_before};
    if (piece.gap_before && piece.aux_offset > end) part.lost_before = piece.aux_offset - end;
    append_parts(parts, part, cuts);
    end = piece.aux_offset + piece.size;
  }
  return parts;
}

}  // namespace hodo::session
