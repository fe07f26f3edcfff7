#include "text_map.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hodo::text {
namespace {

// A sum over bytes that overlap could be any number of times the file.
bool overlap(std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges) {
  std::ranges::sort(ranges);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first - ranges[i - 1].first < ranges[i - 1].second) return true;
  }
  return false;
}

}  // namespace

Result<TextMap> TextMap::make(const ElfBytes& elf) {
  TextMap map;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> in_file;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> in_memory;
  std::uint64_t total = 0;
  for (const image::Segment& segment : elf.elf().segments) {
    const auto bytes = elf.of(segment);
    if (!segment.executable || bytes.empty()) continue;
    if (segment.vaddr > ~std::uint64_t{0} - bytes.size()) {
      return fail(ErrorCode::malformed, "an executable segment passes the end of memory");
    }
    in_file.emplace_back(segment.offset, bytes.size());
    in_memory.emplace_back(segment.vaddr, bytes.size());
    map.stretches_.push_back({.begin = segment.vaddr, .bytes = bytes});
  }
  if (overlap(in_file) || overlap(in_memory)) {
    return fail(ErrorCode::malformed, "executable segments overlap");
  }
  for (const Stretch& s : map.stretches_) total += s.bytes.size();
  if (total > Module::kLargestText) return fail(ErrorCode::unsupported, "more than 1 GiB of text");
  std::ranges::sort(map.stretches_, {}, &Stretch::begin);
  const auto longest =
      std::ranges::max_element(map.stretches_, {}, [](const Stretch& s) { return s.bytes.size(); });
  map.longest_ = static_cast<std::size_t>(longest - map.stretches_.begin());
  return map;
}

const TextMap::Stretch* TextMap::search(std::uint64_t vaddr) const {
  const auto next = std::ranges::upper_bound(stretches_, vaddr, {}, &Stretch::begin);
  if (next == stretches_.begin()) return nullptr;
  const Stretch& before = *std::prev(next);
  return vaddr - before.begin < before.bytes.size() ? &before : nullptr;
}

void TextMap::unmark() {
  for (Stretch& s : stretches_) s.marks.assign(s.bytes.size(), 0);
}

void TextMap::keep() {
  for (Stretch& s : stretches_) s.kept = KeptMarks(std::exchange(s.marks, {}));
}

}  // namespace hodo::text
