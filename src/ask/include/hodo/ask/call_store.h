// Where the rows of calls are kept from one question to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hodo::ask {

// A file beside an index, which whoever has a cache implements. Safe for concurrent use.
class CallStore {
 public:
  CallStore() = default;
  CallStore(const CallStore&) = delete;
  CallStore& operator=(const CallStore&) = delete;
  virtual ~CallStore() = default;

  // What store() was given last for this recording; nullopt: nothing. It is read as any input is.
  virtual std::optional<std::vector<std::uint8_t>> load() = 0;
  // What cannot be kept is not.
  virtual void store(std::span<const std::uint8_t> bytes) = 0;
  // Bytes that it may take.
  virtual std::size_t room() const = 0;
  // What was found by decoding fewer of the index's segments is not worth keeping.
  virtual std::size_t least_segments() const = 0;
};

}  // namespace hodo::ask
