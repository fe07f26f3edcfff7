// What a row of packets asks of the return stack so that its compressed returns go where they went
// before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "return_stack.h"

namespace hodo::flow {

// A compressed return to a caller from before the row: what must be where on the stack.
struct ReturnGuard {
  std::uint64_t address = 0;
  std::uint32_t below = 0;  // the top

  bool holds(const ReturnStack& returns) const {
    return below < returns.depth() && returns.entry(below) == address;
  }
};
inline bool hold(std::span<const ReturnGuard> guards, const ReturnStack& returns) {
  return std::ranges::all_of(guards, [&](const ReturnGuard& one) { return one.holds(returns); });
}

// Whether a row that takes so many off, and rises to that peak, pushes none off the end: what is
// left there would depend on the order.
inline bool has_room(const ReturnStack& returns, unsigned pops, unsigned peak) {
  return std::max(returns.depth(), pops) + peak <= ReturnStack::kSize;
}

}  // namespace hodo::flow
