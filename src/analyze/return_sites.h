// Where returns have gone lately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hodo::analyze {

// Of many return addresses the last ones: what shares a slot replaces what was there. longjmp goes
// to where setjmp returned before, which tells it from a tail call in code without symbols.
class ReturnSites {
 public:
  void add(std::uint64_t address) { sites_[slot(address)] = address; }
  bool has(std::uint64_t address) const { return sites_[slot(address)] == address; }

  std::span<std::uint64_t> slots() { return sites_; }

 private:
  static constexpr unsigned kBits = 16;
  static std::size_t slot(std::uint64_t address) {
    return static_cast<std::size_t>(address * 0x9e3779b97f4a7c15 >> (64 - kBits));
  }
  std::vector<std::uint64_t> sites_ = std::vector<std::uint64_t>(std::size_t{1} << kBits);
};

}  // namespace hodo::analyze
