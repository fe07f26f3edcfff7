// What the kernel says about a page of the program: /proc/self/maps, read again when it has
// changed.
#pragma once

#include <cstdint>

namespace hodo::engine {

struct Mapping {
  std::uint64_t start = 0, end = 0;
  std::uint32_t prot = 0;  // PROT_*
  bool shared = false;
  bool file = false;
};

// The mapping that `address` lies in; null: none. Valid until the next call.
const Mapping* find_mapping(std::uint64_t address);
// The program has mapped, unmapped or protected something.
void mappings_changed();

}  // namespace hodo::engine
