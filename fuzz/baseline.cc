// A baseline that somebody else made: what is read is written the same, byte by byte.
#include "hodo/check/baseline.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  const auto baseline = hodo::check::Baseline::parse(bytes);
  if (baseline && !std::ranges::equal(baseline->bytes(), bytes)) std::abort();
  return 0;
}
