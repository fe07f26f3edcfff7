#include "ran_code.h"

#include <algorithm>
#include <utility>

namespace hodo::ask {

RanCode::RanCode(std::vector<Granule>& all) : all_(all), recent_(kRecent) {}

void RanCode::add(std::uint32_t space, std::span<const flow::CodeLine> lines) {
  if (space_ == nullptr || space_number_ != space) {
    space_ = &spaces_[space];
    space_number_ = space;
    std::ranges::fill(recent_, 0);
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
    if (recent_[at & (kRecent - 1)] != at + 1) granule(at);
  }
}

void RanCode::granule(std::uint64_t number) {
  recent_[number & (kRecent - 1)] = number + 1;
  auto it = space_->known.find(number);
  if (it == space_->known.end()) {
    if (all_.size() == kMostGranules) {
      everywhere_ = true;
      return;
    }
    it = space_->known.try_emplace(number).first;
    it->second.number = static_cast<std::uint32_t>(all_.size());
    all_.push_back({space_number_, number});
  }
  if (std::exchange(it->second.segment, segment_) != segment_) here_.push_back(it->second.number);
}

std::vector<std::uint32_t> RanCode::take() {
  ++segment_;
  everywhere_ = false;
  std::ranges::fill(recent_, 0);
  std::ranges::sort(here_);
  return std::exchange(here_, {});
}

}  // namespace hodo::ask
