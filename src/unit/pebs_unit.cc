#include "hodo/unit/pebs_unit.h"

#include <cstring>

namespace hodo::unit {

void PebsUnit::start(const PebsControl& control) {
  control_ = control;
  running_ = true;
  armed_ = false;
}

void PebsUnit::event(const hw::PebsRecord& record) {
  if (!running_) return;
  if (armed_) {
    armed_ = false;
    const bool due = write(record);
    if (due && control_.interrupt != nullptr) control_.interrupt(control_.owner);
    return;
  }
  counter_ = (counter_ + 1) & kCounterMask;
  armed_ = counter_ == 0;
}

// Reads the DS area, as the processor does for each record. True: the index is at the threshold.
bool PebsUnit::write(const hw::PebsRecord& record) {
  const hw::DsLayout layout = control_.format.layout;
  const std::size_t size = hw::pebs_record_bytes(control_.format, control_.data_cfg);
  if (control_.memory == nullptr) return false;
  const auto bytes = control_.memory->at(control_.ds_area, hw::ds_area_bytes(layout));
  const auto area = hw::read_ds_area(bytes, layout);
  if (!area || !area->pebs.is_sound(size)) {
    ++dropped_;
    return false;
  }
  set_counter(area->pebs_counter_reset[0]);
  const hw::DsBuffer& buffer = area->pebs;
  const auto room = buffer.maximum - buffer.index >= size ? control_.memory->at(buffer.index, size)
                                                          : std::span<std::uint8_t>();
  if (room.empty()) {
    ++dropped_;
    return buffer.index >= buffer.threshold;
  }
  hw::write_pebs_record(record, control_.format, control_.data_cfg, room);
  const std::uint64_t index = buffer.index + size;
  std::memcpy(bytes.data() + hw::pebs_index_offset(layout), &index, hw::word_bytes(layout));
  return index >= buffer.threshold;
}

}  // namespace hodo::unit
