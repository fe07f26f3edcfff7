// The debug store save area: where the processor finds the BTS and PEBS buffers, and says how far
// it has filled them (SDM vol. 3, "BTS and DS Save Area", figures "DS Save Area"; Linux struct
// debug_store in arch/x86/include/asm/intel_ds.h). IA32_DS_AREA has its linear address.
//
// Every address is one word of the layout, 8 or 4 bytes, in this order:
//
//   bts_buffer_base | bts_index | bts_absolute_maximum | bts_interrupt_threshold |
//   pebs_buffer_base | pebs_index | pebs_absolute_maximum | pebs_interrupt_threshold
//
// Counter reset values follow, 8 bytes each: one in the 32-bit layout (its processors sample with
// one counter), eight in the 64-bit layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "hodo/base/result.h"
#include "hodo/hw/bts.h"

namespace hodo::hw {

// One buffer's four fields; linear addresses.
struct DsBuffer {
  std::uint64_t base = 0;
  std::uint64_t index = 0;    // of the next record to be written
  std::uint64_t maximum = 0;  // of the byte behind the buffer; whole records from the base
  std::uint64_t threshold = 0;

  // The index is at a record of the buffer or just behind the last one, and the buffer can hold a
  // record. The processor does not check this; it is undefined what it does with other values.
  bool is_sound(std::size_t record_bytes) const;
  std::uint64_t used() const { return index - base; }
  friend bool operator==(const DsBuffer&, const DsBuffer&) = default;
};

struct DsArea {
  // General-purpose counters. The 64-bit layout goes on with those of the fixed counters, whose
  // place depends on the PEBS format (Linux: MAX_PEBS_EVENTS_FMT4), and which are not kept here.
  static constexpr unsigned kCounters = 8;

  DsBuffer bts;
  DsBuffer pebs;
  std::array<std::uint64_t, kCounters> pebs_counter_reset{};

  friend bool operator==(const DsArea&, const DsArea&) = default;
};

constexpr unsigned ds_counters(DsLayout layout) {
  return layout == DsLayout::bits64 ? DsArea::kCounters : 1;
}
constexpr std::size_t ds_area_bytes(DsLayout layout) {
  return 8 * word_bytes(layout) + 8 * std::size_t{ds_counters(layout)};
}
// Offsets of the fields that processor and handler move.
constexpr std::size_t bts_index_offset(DsLayout layout) { return word_bytes(layout); }
constexpr std::size_t pebs_index_offset(DsLayout layout) { return 5 * word_bytes(layout); }

// nullopt: fewer than ds_area_bytes(layout) bytes.
std::optional<DsArea> read_ds_area(std::span<const std::uint8_t> bytes, DsLayout layout);
// `out` has room for ds_area_bytes(layout).
void write_ds_area(const DsArea& area, DsLayout layout, std::span<std::uint8_t> out);

// The memory that DS_AREA's addresses mean: the machine's, or a simulated one's.
class DsMemory {
 public:
  virtual ~DsMemory() = default;
  // `size` bytes at a linear address, valid until they are released; empty if not all are mapped.
  virtual std::span<std::uint8_t> at(std::uint64_t address, std::size_t size) = 0;
  // Memory that the processor can always write to (locked, mapped in every address space), zeroed
  // and aligned to a page. Errors: no_space.
  virtual Result<std::uint64_t> allocate(std::size_t size) = 0;
  virtual void release(std::uint64_t address) = 0;
};

}  // namespace hodo::hw
