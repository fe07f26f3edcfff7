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

}  // namespace hodo::analyze
