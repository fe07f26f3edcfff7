#include "hodo/text/data_index.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace hodo::text {
namespace {

constexpr std::size_t kFewest = 16;     // heads
constexpr std::size_t kMostAlike = 64;  // places that are tried for a word
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

}  // namespace

DataIndex::DataIndex(const Module& module, std::uint64_t most)
    : module_(module), file_(module.file()), left_(most) {
  for (const image::Segment& segment : module.elf().segments) {
    if (segment.offset >= file_.size()) continue;
    const std::size_t size =
        std::min<std::uint64_t>(segment.file_size, file_.size() - segment.offset);
    ranges_.push_back({segment.offset, segment.offset + size});
  }
  std::ranges::sort(ranges_, {}, &Range::begin);
  std::size_t end = 0;
  std::size_t bytes = 0;
  for (Range& range : ranges_) {
    range.begin = std::max(range.begin, end);
    range.end = end = std::max(range.end, end);
    bytes += range.end - range.begin;
  }
  const std::size_t heads = std::bit_ceil(std::max(kFewest, bytes / kWord));
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(heads));
  heads_.resize(heads);
  next_.resize(end / kWord);
  for (const Range& range : ranges_) add(range);
}

void DataIndex::add(Range range) {
  const std::size_t first = (range.begin + kWord - 1) / kWord;
  for (std::size_t number = first; number < range.end / kWord; ++number) {
    std::uint32_t& head = heads_[slot(&file_[number * kWord])];
    next_[number] = std::exchange(head, static_cast<std::uint32_t>(number + 1));
  }
}

std::size_t DataIndex::slot(const std::uint8_t* word) const {
  std::uint64_t value = 0;
  static_assert(sizeof value == kWord);
  std::memcpy(&value, word, kWord);
  return static_cast<std::size_t>((value ^ value >> 29) * kGolden >> shift_);
}

// Where a function is, equal bytes are no copy.
bool DataIndex::is_at(std::size_t place, std::span<const std::uint8_t> wanted) const {
  if (place > file_.size() || file_.size() - place < wanted.size()) return false;
  if (!std::ranges::equal(file_.subspan(place, wanted.size()), wanted)) return false;
  return std::ranges::any_of(module_.elf().segments, [&](const image::Segment& segment) {
    if (place < segment.offset || place - segment.offset > segment.file_size) return false;
    const std::uint64_t at = place - segment.offset;
    if (segment.file_size - at < wanted.size()) return false;
    return !segment.executable || module_.function(segment.vaddr + at) == nullptr;
  });
}

std::optional<bool> DataIndex::has(std::span<const std::uint8_t> wanted) {
  if (wanted.size() < 2 * kWord) return search(wanted);
  for (std::size_t distance = 0; distance < kWord; ++distance) {
    const auto found = look(distance, wanted);
    if (!found) return search(wanted);
    if (*found) return true;
  }
  return false;
}

// Where a word of the file lies so far behind the first of the bytes. nullopt: each of theirs is in
// too many places.
std::optional<bool> DataIndex::look(std::size_t distance,
                                    std::span<const std::uint8_t> wanted) const {
  for (; distance + kWord <= wanted.size(); distance += kWord) {
    std::size_t tried = 0;
    std::uint32_t at = heads_[slot(&wanted[distance])];
    for (; at != 0 && tried < kMostAlike; at = next_[at - 1], ++tried) {
      const std::size_t place = std::size_t{at - 1} * kWord;
      if (place >= distance && is_at(place - distance, wanted)) return true;
    }
    if (at == 0) return false;
  }
  return std::nullopt;
}

std::optional<bool> DataIndex::search(std::span<const std::uint8_t> wanted) {
  for (const Range& range : ranges_) {
    for (std::size_t at = range.begin; at < range.end;) {
      const std::uint8_t* const from = &file_[at];
      const auto* const found = static_cast<const std::uint8_t*>(
          memmem(from, range.end - at, wanted.data(), wanted.size()));
      const std::size_t gone =
          found == nullptr ? range.end - at : static_cast<std::size_t>(found - from) + 1;
      if (gone > left_) return std::nullopt;
      left_ -= gone;
      at += gone;
      if (found != nullptr && is_at(at - 1, wanted)) return true;
    }
  }
  return false;
}

}  // namespace hodo::text
