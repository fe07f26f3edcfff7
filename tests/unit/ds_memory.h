// A machine's memory for the DS area: a few pages at addresses of their own.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "hodo/hw/ds_area.h"

namespace hodo::unit {

class FakeMemory final : public hw::DsMemory {
 public:
  std::span<std::uint8_t> at(std::uint64_t address, std::size_t size) override {
    auto next = pages_.upper_bound(address);
    if (next == pages_.begin()) return {};
    auto& [start, bytes] = *--next;
    const std::uint64_t offset = address - start;
    if (offset > bytes.size() || size > bytes.size() - offset) return {};
    return std::span(bytes).subspan(offset, size);
  }
  Result<std::uint64_t> allocate(std::size_t size) override {
    if (full) return fail(ErrorCode::no_space, "no memory");
    const std::uint64_t address = next_;
    next_ += (size + 0x1fff) & ~0xfffULL;
    pages_.emplace(address, std::vector<std::uint8_t>(size));
    return address;
  }
  void release(std::uint64_t address) override { pages_.erase(address); }

  std::size_t allocations() const { return pages_.size(); }
  bool full = false;

  // The DS area at an address, read and written whole.
  hw::DsArea area(std::uint64_t address, hw::DsLayout layout = hw::DsLayout::bits64) {
    return *hw::read_ds_area(at(address, hw::ds_area_bytes(layout)), layout);
  }
  void set_area(std::uint64_t address, const hw::DsArea& area,
                hw::DsLayout layout = hw::DsLayout::bits64) {
    hw::write_ds_area(area, layout, at(address, hw::ds_area_bytes(layout)));
  }

 private:
  std::map<std::uint64_t, std::vector<std::uint8_t>> pages_;
  // 4 GiB is not reached: the 32-bit layout can name every address.
  std::uint64_t next_ = 0x10000;
};

}  // namespace hodo::unit
