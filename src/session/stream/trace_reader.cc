#include "trace_reader.h"

#include <algorithm>

namespace hodo::session {

std::vector<Part> within(std::vector<Part> parts, StreamRange range) {
  std::erase_if(parts, [&](const Part& part) {
    return part.offset >= range.end || (range.begin != 0 && part.offset + part.size <= range.begin);
  });
  if (parts.empty()) return parts;
  Part& first = parts.front();
  if (const std::uint64_t skip = range.begin - std::min(range.begin, first.offset); skip != 0) {
    first.file_offset += skip;
    first.offset += skip;
    first.size -= skip;
    first.gap_before = false;
  }
  Part& last = parts.back();
  last.size = std::min(last.size, range.end - last.offset);
  return parts;
}

}  // namespace hodo::session
