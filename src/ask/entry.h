// What two paths are compared by.
#pragma once

#include <cstdint>

namespace hodo::ask {

// A branch that counts.
struct Entry {
  std::uint64_t token = 0;
  std::uint64_t number = 0;  // of the branch
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t time = 0;
  std::uint32_t space = 0;
  std::uint32_t insns = 0;
  int depth = 0;             // calls less returns
  std::uint32_t folded = 0;  // branches behind it that count as a part of it

  std::uint64_t last() const { return number + folded; }
};

}  // namespace hodo::ask
