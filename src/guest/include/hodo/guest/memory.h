// A virtual machine's memory, seen from outside.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace hodo::guest {

// Guest-physical memory; whoever has the machine implements it.
class PhysicalMemory {
 public:
  virtual ~PhysicalMemory() = default;
  // Fills `out` from `address` on; false if any of it is no memory. Must have no side effects in
  // the guest (device registers are no memory).
  virtual bool read(std::uint64_t address, std::span<std::uint8_t> out) const = 0;
};

// How the guest translates addresses: its registers, for paging with 8-byte entries (SDM vol. 3,
// "4-Level Paging and 5-Level Paging").
struct Paging {
  std::uint64_t cr3 = 0;
  bool five_levels = false;  // CR4.LA57
};

struct Translation {
  std::uint64_t physical = 0;
  std::uint64_t page_size = 0;  // 4 KiB, 2 MiB or 1 GiB
};

// Nullopt: not present, not canonical, or the tables are not readable. Accessed bits stay.
std::optional<Translation> translate(const PhysicalMemory& memory, const Paging& paging,
                                     std::uint64_t address);

// One address space of the guest. Both references must outlive it. Nothing that it answers may be
// trusted: the guest wrote it.
class VirtualMemory {
 public:
  VirtualMemory(const PhysicalMemory& memory, const Paging& paging)
      : memory_(memory), paging_(paging) {}

  const PhysicalMemory& physical() const { return memory_; }
  const Paging& paging() const { return paging_; }

  bool mapped(std::uint64_t address) const {
    return translate(memory_, paging_, address).has_value();
  }
  std::optional<std::uint64_t> physical_address(std::uint64_t address) const;
  // False if any of it is not mapped; `out` may have been written to.
  bool read(std::uint64_t address, std::span<std::uint8_t> out) const;
  template <class T>
  std::optional<T> read(std::uint64_t address) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    std::span bytes(reinterpret_cast<std::uint8_t*>(&value), sizeof(value));
    return read(address, bytes) ? std::optional<T>(value) : std::nullopt;
  }
  // Up to the first NUL, or `limit` bytes; nullopt if that is not all mapped.
  std::optional<std::string> read_string(std::uint64_t address, std::size_t limit) const;

 private:
  const PhysicalMemory& memory_;
  Paging paging_;
};

}  // namespace hodo::guest
