#include "executions.h"

#include <algorithm>

namespace hodo::analyze {

void Executions::finish() {
  std::ranges::sort(changes_, {}, &Step::address);
  std::uint64_t count = 0;
  for (const Step& change : changes_) {
    count += change.count;
    if (steps_.empty() || steps_.back().address != change.address) {
      steps_.push_back({change.address, count});
    } else {
      steps_.back().count = count;
    }
  }
  changes_ = {};
}

std::uint64_t Executions::at(std::uint64_t address) const {
  auto after = std::ranges::upper_bound(steps_, address, {}, &Step::address);
  return after == steps_.begin() ? 0 : (after - 1)->count;
}

bool Executions::any(std::uint64_t first, std::uint64_t end) const {
  auto next = std::ranges::upper_bound(steps_, first, {}, &Step::address);
  if (next != steps_.begin() && (next - 1)->count != 0) return true;
  for (; next != steps_.end() && next->address < end; ++next) {
    if (next->count != 0) return true;
  }
  return false;
}

}  // namespace hodo::analyze
