#include "hodo/hw/ds_area.h"

#include <algorithm>
#include <cstring>

namespace hodo::hw {
namespace {

using Words = std::array<std::uint64_t, 8 + DsArea::kCounters>;

}  // namespace

bool DsBuffer::is_sound(std::size_t record_bytes) const {
  if (record_bytes == 0 || maximum < base || index < base || index > maximum) return false;
  return maximum - base >= record_bytes && (index - base) % record_bytes == 0;
}

std::optional<DsArea> read_ds_area(std::span<const std::uint8_t> bytes, DsLayout layout) {
  if (bytes.size() < ds_area_bytes(layout)) return std::nullopt;
  const std::size_t word = word_bytes(layout);
  Words w{};
  for (std::size_t n = 0; n < w.size(); ++n) std::memcpy(&w[n], bytes.data() + n * word, word);
  DsArea area{.bts = {w[0], w[1], w[2], w[3]}, .pebs = {w[4], w[5], w[6], w[7]}};
  std::copy(w.begin() + 8, w.end(), area.pebs_counter_reset.begin());
  return area;
}

void write_ds_area(const DsArea& area, DsLayout layout, std::span<std::uint8_t> out) {
  const auto& [bts, pebs, reset] = area;
  Words w{bts.base,  bts.index,  bts.maximum,  bts.threshold,
          pebs.base, pebs.index, pebs.maximum, pebs.threshold};
  std::copy(reset.begin(), reset.end(), w.begin() + 8);
  const std::size_t word = word_bytes(layout);
  for (std::size_t n = 0; n < w.size(); ++n) std::memcpy(out.data() + n * word, &w[n], word);
}

}  // namespace hodo::hw
