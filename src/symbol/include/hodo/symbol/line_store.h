// Where source positions are kept from one program to the next.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hodo::symbol {

// Small files under keys, which whoever has a cache implements. Safe for concurrent use.
class LineStore {
 public:
  LineStore() = default;
  LineStore(const LineStore&) = delete;
  LineStore& operator=(const LineStore&) = delete;
  virtual ~LineStore() = default;

  // What store() was given last for this key; nullopt: nothing is there. It is read as any input
  // is.
  virtual std::optional<std::vector<std::uint8_t>> load(std::span<const std::uint8_t> key) = 0;
  // What cannot be kept is not.
  virtual void store(std::span<const std::uint8_t> key, std::span<const std::uint8_t> bytes) = 0;
};

}  // namespace hodo::symbol
