#include "hodo/image/address_space.h"

#include <algorithm>

namespace hodo::image {

void AddressSpace::map(std::uint64_t start, std::uint64_t length, Slice slice, std::uint64_t time) {
  const std::uint64_t backed = std::min(length, slice.length);
  if (backed < length) history_.unmap(start, length, time);
  history_.map(start, backed, {.slice = std::move(slice), .start = start}, time);
}

void AddressSpace::unmap(std::uint64_t start, std::uint64_t length, std::uint64_t time) {
  history_.unmap(start, length, time);
}

void AddressSpace::clear(std::uint64_t time) { history_.clear(time); }

void AddressSpace::fork_from(const AddressSpace& parent, std::uint64_t time) {
  history_.fork_from(parent.history_, time);
}

CodeSpan AddressSpace::find(std::uint64_t address, std::uint64_t time) const {
  const auto found = history_.find(address, time);
  CodeSpan span{.valid_from = found.valid_from, .valid_until = found.valid_until};
  if (found.payload == nullptr) return span;
  const Slice& slice = found.payload->slice;
  // Of what is mapped there as much as has been read.
  const std::uint64_t start = found.payload->start;
  const Slice::Part part = slice.around(address - start);
  if (part.bytes.empty()) return span;
  const std::uint64_t first = std::max(found.first - start, part.first);
  const std::uint64_t last = std::min(found.last - start, part.first + (part.bytes.size() - 1));
  span.content = slice.content->id();
  span.offset = slice.offset + first;
  span.address = start + first;
  span.bytes = part.bytes.subspan(static_cast<std::size_t>(first - part.first),
                                  static_cast<std::size_t>(last - first) + 1);
  return span;
}

std::size_t read_code(const CodeSource& source, std::uint64_t address, std::uint64_t time,
                      std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const CodeSpan span = source.find(address + done, time);
    if (span.content == 0) break;
    const auto from = span.bytes.subspan(static_cast<std::size_t>(address + done - span.address));
    const auto n = std::min(from.size(), out.size() - done);
    std::ranges::copy(from.first(n), out.begin() + static_cast<std::ptrdiff_t>(done));
    done += n;
    if (address + done < address) break;  // the end of the address space
  }
  return done;
}

}  // namespace hodo::image
