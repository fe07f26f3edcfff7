#include "place_texts.h"

#include <algorithm>
#include <utility>

namespace hodo::view {

std::string_view PlaceTexts::put(std::uint64_t address, std::string_view text) {
  if (count_ == kMost || texts_.size() + text.size() > kMostBytes) clear();
  if (2 * (count_ + 1) > slots_.size()) grow();
  ++count_;
  insert({.address = address,
          .begin = static_cast<std::uint32_t>(texts_.size()),
          .size = static_cast<std::uint32_t>(text.size())});
  texts_ += text;
  return std::string_view(texts_).substr(texts_.size() - text.size());
}

void PlaceTexts::clear() {
  if (count_ == 0) return;
  std::ranges::fill(slots_, Slot{});
  texts_.clear();
  count_ = 0;
}

void PlaceTexts::insert(const Slot& slot) {
  std::size_t at = this->slot(slot.address);
  while (slots_[at].address != 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = slot;
}

void PlaceTexts::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  --shift_;
  for (const Slot& slot : old) {
    if (slot.address != 0) insert(slot);
  }
}

}  // namespace hodo::view
