#include "learned_stretches.h"

namespace hodo::flow {

bool StretchLearner::finish(const ReturnStack& returns, Stretch& out,
                            std::vector<std::pair<std::uint64_t, Link>>& pushed) const {
  const auto pops = static_cast<unsigned>(-low_);
  const auto pushes = static_cast<unsigned>(level_ - low_);
  if (guards_.size() > Stretch::kMostGuards || pushes > returns.depth()) return false;
  if (std::max(pops, static_cast<unsigned>(peak_)) > ReturnStack::kSize) return false;
  for (const Guard& guard : guards_) {
    out.guards[out.guard_count] = guard.address;
    out.guarded[out.guard_count++] = static_cast<std::uint8_t>(guard.below);
  }
  out.path.pops = static_cast<std::uint8_t>(pops);
  out.path.pushes = static_cast<std::uint8_t>(pushes);
  out.path.peak = static_cast<std::uint8_t>(peak_);
  for (unsigned i = pushes; i-- > 0;) pushed.emplace_back(returns.entry(i), returns.link(i));
  return true;
}

}  // namespace hodo::flow
