// A LineStore in memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "hodo/symbol/line_store.h"

namespace hodo::symbol::test {

class Shelf final : public LineStore {
 public:
  using Bytes = std::vector<std::uint8_t>;
  std::optional<Bytes> load(std::span<const std::uint8_t> key) override {
    const auto it = kept.find(Bytes(key.begin(), key.end()));
    return it == kept.end() ? std::nullopt : std::optional(it->second);
  }
  void store(std::span<const std::uint8_t> key, std::span<const std::uint8_t> bytes) override {
    kept[Bytes(key.begin(), key.end())].assign(bytes.begin(), bytes.end());
    ++stored;
  }

  std::map<Bytes, Bytes> kept;
  int stored = 0;
};

}  // namespace hodo::symbol::test
