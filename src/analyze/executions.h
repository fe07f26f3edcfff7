// How often each address was executed, from runs of code.
#pragma once

#include <cstdint>
#include <vector>

namespace hodo::analyze {

class Executions {
 public:
  // [first, end) ran `count` times.
  void add(std::uint64_t first, std::uint64_t end, std::uint64_t count) {
    changes_.push_back({first, count});
    changes_.push_back({end, 0 - count});
  }
  // Call once, when all is added.
  void finish();
  // Of the instruction that starts at `address`.
  std::uint64_t at(std::uint64_t address) const;
  // Whether anything ran in [first, end).
  bool any(std::uint64_t first, std::uint64_t end) const;

 private:
  struct Step {
    std::uint64_t address;
    std::uint64_t count;  // from here on
  };
  std::vector<Step> changes_;  // of counts, modulo 2^64; an address may have several
  std::vector<Step> steps_;
};

}  // namespace hodo::analyze
