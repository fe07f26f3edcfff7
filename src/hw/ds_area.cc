#include "hodo/hw/ds_area.h"

#include <cstring>

namespace hodo::hw {
namespace {

constexpr std::size_t kAddresses = 8;

}  // namespace

bool DsBuffer::is_sound(std::size_t record_bytes) const {
  if (record_bytes == 0 || maximum < base || index < base || index > maximum) return false;
  return maximum - base >= record_bytes && (index - base) % record_bytes == 0;
}

std::optional<DsArea> read_ds_area(std::span<const std::uint8_t> bytes, DsLayout layout) {
  if (bytes.size() < ds_area_bytes(layout)) return std::nullopt;
  const std::size_t word = word_bytes(layout);
  std::array<std::uint64_t, kAddresses> a{};
  for (std::size_t n = 0; n < kAddresses; ++n) {
    std::memcpy(&a[n], bytes.data() + n * word, word);
  }
  DsArea area{.bts = {a[0], a[1], a[2], a[3]}, .pebs = {a[4], a[5], a[6], a[7]}};
  std::memcpy(area.pebs_counter_reset.data(), bytes.data() + kAddresses * word,
              std::size_t{8} * ds_counters(layout));
  return area;
}

void write_ds_area(const DsArea& area, DsLayout layout, std::span<std::uint8_t> out) {
  const auto& [bts, pebs, reset] = area;
  const std::array<std::uint64_t, kAddresses> a{bts.base,      bts.index,     bts.maximum,
                                                bts.threshold, pebs.base,     pebs.index,
                                                pebs.maximum,  pebs.threshold};
  const std::size_t word = word_bytes(layout);
  for (std::size_t n = 0; n < kAddresses; ++n) {
    std::memcpy(out.data() + n * word, &a[n], word);
  }
  std::memcpy(out.data() + kAddresses * word, reset.data(), std::size_t{8} * ds_counters(layout));
}

}  // namespace hodo::hw
