// Addresses put into words, found by address: what a list of millions of branches says of each end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hodo::view {

class PlaceTexts {
 public:
  // A null view: nothing is kept of it. Views hold until the next put() or clear().
  std::string_view find(std::uint64_t address) const {
    for (std::size_t at = slot(address);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& found = slots_[at];
      if (found.address == 0) return {};
      if (found.address == address) return std::string_view(texts_).substr(found.begin, found.size);
    }
  }
  // An address that find() does not know, not 0. What is kept is bounded: all before may be
  // forgotten.
  std::string_view put(std::uint64_t address, std::string_view text);
  void clear();

 private:
  static constexpr std::size_t kLeast = 1 << 10;
  static constexpr std::size_t kMost = 1 << 19;        // of addresses
  static constexpr std::size_t kMostBytes = 32 << 20;  // of text

  struct Slot {
    std::uint64_t address = 0;  // 0: free
    std::uint32_t begin = 0;    // in texts_
    std::uint32_t size = 0;
  };
  std::size_t slot(std::uint64_t address) const {
    return static_cast<std::size_t>(address * 0x9e3779b97f4a7c15u >> shift_);
  }
  void insert(const Slot& slot);
  void grow();

  std::vector<Slot> slots_ = std::vector<Slot>(kLeast);  // open addressing, at most half full
  unsigned shift_ = 64 - 10;
  std::size_t count_ = 0;
  std::string texts_;
};

}  // namespace hodo::view
