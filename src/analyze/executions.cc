#include "executions.h"

#include <algorithm>

namespace hodo::analyze {

std::uint64_t Executions::at(std::uint64_t address) const {
  auto after = std::ranges::upper_bound(steps_, address, {}, &Step::address);
  return after == steps_.begin() ? 0 : (after - 1)->count;
}

}  // namespace hodo::analyze
