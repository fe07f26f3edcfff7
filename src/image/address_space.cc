#include "hodo/image/address_space.h"

#include <algorithm>

namespace hodo::image {
namespace {

// A chain of forks without an exec is this deep only if somebody made it up (or made it a ring,
// which forks of equal time allow).
constexpr int kDeepestFork = 1024;

// The last address of a range, cut at the end of the address space; length is not 0.
std::uint64_t last_address(std::uint64_t start, std::uint64_t length) {
  return start + std::min(length - 1, ~start);
}

}  // namespace

Timeline::Value AddressSpace::add(Entry entry) {
  entries_.push_back(std::move(entry));
  return static_cast<Timeline::Value>(entries_.size() - 1);
}

void AddressSpace::map(std::uint64_t start, std::uint64_t length, Slice slice, std::uint64_t time) {
  if (length == 0) return;
  const std::uint64_t backed = std::min(length, slice.length);
  if (backed < length) unmap(start, length, time);
  if (backed == 0) return;
  timeline_.cover(start, last_address(start, backed), time,
                  add({.slice = std::move(slice), .start = start}));
}

void AddressSpace::unmap(std::uint64_t start, std::uint64_t length, std::uint64_t time) {
  if (length == 0) return;
  timeline_.cover(start, last_address(start, length), time, Timeline::kNothing);
}

void AddressSpace::clear(std::uint64_t time) {
  timeline_.cover(0, Timeline::kEnd, time, Timeline::kNothing);
}

void AddressSpace::fork_from(const AddressSpace& parent, std::uint64_t time) {
  timeline_.cover(0, Timeline::kEnd, time, add({.parent = &parent, .parent_time = time}));
}

CodeSpan AddressSpace::find(std::uint64_t address, std::uint64_t time) const {
  auto answer = timeline_.find(address, time);
  // What a parent had is found there; how long the answer holds is this space's own affair.
  const AddressSpace* space = this;
  for (int depth = 0; answer.value != Timeline::kNothing; ++depth) {
    const Entry& entry = space->entries_[answer.value];
    if (entry.parent == nullptr) break;
    space = entry.parent;
    const auto inherited = space->timeline_.find(address, entry.parent_time);
    answer.value = depth < kDeepestFork ? inherited.value : Timeline::kNothing;
    answer.first = std::max(answer.first, inherited.first);
    answer.last = std::min(answer.last, inherited.last);
  }
  CodeSpan span{.valid_from = answer.valid_from, .valid_until = answer.valid_until};
  if (answer.value == Timeline::kNothing) return span;
  const Entry& entry = space->entries_[answer.value];
  const std::uint64_t skipped = answer.first - entry.start;
  span.content = entry.slice.content->id();
  span.offset = entry.slice.offset + skipped;
  span.address = answer.first;
  span.bytes = entry.slice.bytes().subspan(
      static_cast<std::size_t>(skipped), static_cast<std::size_t>(answer.last - answer.first) + 1);
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
