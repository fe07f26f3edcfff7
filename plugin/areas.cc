#include "areas.h"

#include <algorithm>
#include <iterator>

namespace hodo::plugin {
namespace {

// `range` without what lies on the other side of, or within, `other`, seen from `address`.
void stay_outside(Areas::Range& range, std::uint64_t address, const Areas::Range& other) {
  if (other.end <= address) range.start = std::max(range.start, other.end);
  if (other.start > address) range.end = std::min(range.end, other.start);
}

}  // namespace

void Areas::set_break(std::uint64_t address) {
  if (!heap_) heap_ = Range{address, address};
  heap_->end = address;
}

void Areas::add_stack(std::int32_t tid, Range range) {
  // Who made the thread may have made its stack executable, which was told as what it was then.
  forget(range);
  stacks_[tid] = range;
}

void Areas::remove_stack(std::int32_t tid) {
  const auto stack = stacks_.find(tid);
  if (stack == stacks_.end()) return;
  forget(stack->second);  // this memory may become anything
  stacks_.erase(stack);
}

std::optional<Areas::Area> Areas::tell(std::uint64_t address, Range mapped) {
  const auto after = told_.upper_bound(address);
  if (after != told_.end()) mapped.end = std::min(mapped.end, after->first);
  if (after != told_.begin()) {
    const std::uint64_t told_until = std::prev(after)->second;
    if (told_until > address) return std::nullopt;
    mapped.start = std::max(mapped.start, told_until);
  }
  Area area{mapped, "//anon"};
  const auto look_at = [&](const Range& range, std::string_view name) {
    if (!range.contains(address)) return stay_outside(area.range, address, range);
    area.name = name;
    area.range.start = std::max(area.range.start, range.start);
    area.range.end = std::min(area.range.end, range.end);
  };
  if (heap_) look_at(*heap_, "[heap]");
  if (vdso_) look_at(*vdso_, "[vdso]");
  for (const auto& [tid, range] : stacks_) look_at(range, "[stack]");
  told_[area.range.start] = area.range.end;
  return area;
}

void Areas::forget(Range range) {
  auto it = told_.upper_bound(range.start);
  if (it != told_.begin()) --it;
  while (it != told_.end() && it->first < range.end) {
    const auto [start, end] = *it;
    if (end <= range.start) {
      ++it;
      continue;
    }
    it = told_.erase(it);
    if (start < range.start) told_[start] = range.start;
    if (end > range.end) told_[range.end] = end;
  }
}

}  // namespace hodo::plugin
