// Precise event-based sampling of the software trace unit: a counter that overflows, records in the
// DS area's PEBS buffer (SDM vol. 3, "Precise Event Based Sampling (PEBS)").
#pragma once

#include <cstdint>

#include "hodo/hw/ds_area.h"
#include "hodo/hw/pebs.h"

namespace hodo::unit {

struct PebsControl {
  std::uint64_t ds_area = 0;  // IA32_DS_AREA
  hw::DsMemory* memory = nullptr;
  hw::PebsFormat format;
  std::uint64_t data_cfg = 0;  // MSR_PEBS_DATA_CFG, of adaptive formats
  // Called when a record brings the index to the threshold or beyond: the performance monitoring
  // interrupt. May stop or start the unit. May be null.
  void (*interrupt)(void* owner) = nullptr;
  void* owner = nullptr;
};

class PebsUnit {
 public:
  // Counters of general-purpose counting are 48 bits wide on every processor since Nehalem.
  static constexpr std::uint64_t kCounterMask = (1ull << 48) - 1;

  // IA32_PEBS_ENABLE's bit of the counter was set, or cleared.
  void start(const PebsControl& control);
  void stop() { running_ = false; }

  std::uint64_t counter() const { return counter_; }
  void set_counter(std::uint64_t value) { counter_ = value & kCounterMask; }

  // The event happened, with the machine in the state that `record` holds. Counts it. The counter
  // arms the unit when it goes from its maximum to 0; the event after that one is recorded, and the
  // counter set to the DS area's reset value. Without room in the buffer the record is dropped.
  void event(const hw::PebsRecord& record);

  bool running() const { return running_; }
  // Records that found no room, or no DS area.
  std::uint64_t dropped() const { return dropped_; }

 private:
  bool write(const hw::PebsRecord& record);

  PebsControl control_;
  std::uint64_t counter_ = 0;
  std::uint64_t dropped_ = 0;
  bool running_ = false;
  bool armed_ = false;
};

}  // namespace hodo::unit
