// What is known of an address, or of a page, for as long as the mappings of its space are the same.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hodo::ask {

struct PlaceKey {
  std::uint32_t space = 0;
  std::uint32_t generation = 0;  // of the mappings (Names::generation)
  std::uint64_t place = 0;       // an address or the number of a page
  bool operator==(const PlaceKey&) const = default;

  struct Hash {
    std::size_t operator()(const PlaceKey& key) const {
      const std::uint64_t mappings = std::uint64_t{key.space} << 48 ^ key.generation;
      const std::uint64_t h = (key.place ^ mappings) * 0x9e3779b97f4a7c15u;
      return static_cast<std::size_t>(h ^ h >> 32);
    }
  };
};

}  // namespace hodo::ask
