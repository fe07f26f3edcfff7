// Where returns have gone lately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hodo::analyze {

// Of many return addresses in code without symbols the last ones: what shares a slot replaces what
// was there. longjmp goes to where setjmp returned before, which tells it from a tail call there.
class ReturnSites {
 public:
  void add(std::uint64_t address) {
    const std::size_t at = slot(address);
    if (std::exchange(sites_[at], address) == address || changed_[at]) return;
    changed_[at] = true;
    changes_.push_back(static_cast<std::uint32_t>(at));
  }
  bool has(std::uint64_t address) const { return sites_[slot(address)] == address; }

  std::span<std::uint64_t> slots() { return sites_; }
  // Those that add() has changed since settle(), in no order.
  std::span<const std::uint32_t> changes() const { return changes_; }
  void settle() {
    for (const std::uint32_t at : changes_) changed_[at] = false;
    changes_.clear();
  }

 private:
  static constexpr unsigned kBits = 16;
  static std::size_t slot(std::uint64_t address) {
    return static_cast<std::size_t>(address * 0x9e3779b97f4a7c15 >> (64 - kBits));
  }
  std::vector<std::uint64_t> sites_ = std::vector<std::uint64_t>(std::size_t{1} << kBits);
  std::vector<bool> changed_ = std::vector<bool>(std::size_t{1} << kBits);
  std::vector<std::uint32_t> changes_;
};

}  // namespace hodo::analyze
