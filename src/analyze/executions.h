// How often each address was executed, from runs of code.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace hodo::analyze {

class Executions {
 public:
  // [first, end) ran `count` times.
  void add(std::uint64_t first, std::uint64_t end, std::uint64_t count) {
    changes_[first] += count;
    changes_[end] -= count;
  }
  // Call once, when all is added.
  void finish() {
    std::uint64_t count = 0;
    for (auto [address, change] : changes_) steps_.push_back({address, count += change});
    changes_.clear();
  }
  // Of the instruction that starts at `address`.
  std::uint64_t at(std::uint64_t address) const;

 private:
  struct Step {
    std::uint64_t address;
    std::uint64_t count;  // from here on
  };
  std::map<std::uint64_t, std::uint64_t> changes_;  // modulo 2^64
  std::vector<Step> steps_;
};

}  // namespace hodo::analyze
