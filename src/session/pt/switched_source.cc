#include "switched_source.h"

#include <algorithm>

namespace hodo::session {

image::CodeSpan SwitchedSource::find(std::uint64_t address, std::uint64_t time) const {
  if (address >> 63 != 0) {
    return kernel_ == nullptr ? image::CodeSpan{} : kernel_->find(address, time);
  }
  std::size_t turn = occupancy_.at(time);
  image::CodeSpan span;
  if (spaces_[turn] != nullptr) span = spaces_[turn]->find(address, time);
  span.valid_from = std::max(span.valid_from, occupancy_.turns()[turn].from);
  span.valid_until = std::min(span.valid_until, occupancy_.until(turn));
  return span;
}

}  // namespace hodo::session
