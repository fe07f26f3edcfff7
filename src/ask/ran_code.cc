#include "ran_code.h"

#include <algorithm>
#include <utility>

namespace hodo::ask {

RanCode::RanCode(std::vector<Granule>& all) : all_(all), recent_(kRecent) {}

void RanCode::add(std::uint32_t space, std::span<const flow::CodeLine> lines) {
  if (space_ == nullptr || space_number_ != space) {
    space_ = &spaces_[space];
    space_number_ = space;
    std::ranges::fill(recent_, Recent{});
  }
  for (const flow::CodeLine& run : lines) {
    if (run.first <= run.last) line(run.first >> kGranuleBits, run.last >> kGranuleBits);
  }
}

void RanCode::line(std::uint64_t first, std::uint64_t last) {
  if (last - first > kLongestLine) {
    everywhere_ = true;
    return;
  }
  for (std::uint64_t at = first; at <= last; ++at) {
    Recent& recent = recent_[at & (kRecent - 1)];
    if (recent.behind != at + 1) {
      const std::uint32_t number = number_of(at);
      if (number == kNone) {
        everywhere_ = true;
        return;
      }
      recent = {at + 1, number};
    }
    if (std::exchange(seen_[recent.number], segment_) != segment_) here_.push_back(recent.number);
  }
}

std::uint32_t RanCode::number_of(std::uint64_t granule) {
  const auto known = space_->find(granule);
  if (known != space_->end()) return known->second;
  if (all_.size() == kMostGranules) return kNone;
  const auto number = static_cast<std::uint32_t>(all_.size());
  space_->try_emplace(granule, number);
  all_.push_back({space_number_, granule});
  seen_.push_back(0);
  return number;
}

std::vector<std::uint32_t> RanCode::take() {
  ++segment_;
  everywhere_ = false;
  std::ranges::sort(here_);
  return std::exchange(here_, {});
}

}  // namespace hodo::ask
