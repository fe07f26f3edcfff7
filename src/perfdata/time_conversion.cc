#include "hodo/perfdata/time_conversion.h"

namespace hodo::perfdata {

// Both split the number so that the products fit 64 bits, as perf's tools/perf/util/tsc.c does;
// equal results matter because they are compared with perf's.
std::uint64_t TimeConversion::to_ns(std::uint64_t tsc) const {
  const std::uint64_t whole = tsc >> shift;
  const std::uint64_t rest = tsc & ((std::uint64_t{1} << shift) - 1);
  return zero + whole * mult + ((rest * mult) >> shift);
}

std::uint64_t TimeConversion::to_tsc(std::uint64_t ns) const {
  const std::uint64_t t = ns - zero;
  const std::uint64_t whole = t / mult;
  const std::uint64_t rest = t % mult;
  return (whole << shift) + (rest << shift) / mult;
}

}  // namespace hodo::perfdata
