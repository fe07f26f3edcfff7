// Numbers to text for the formats where millions of them are written.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace hodo::view {

// One line under construction. The caller knows that its fields fit (kSize is far above the longest
// line of the fixed formats); text of unknown length does not go through here.
class Line {
 public:
  static constexpr std::size_t kSize = 512;

  void text(std::string_view s) {
    std::memcpy(at_, s.data(), s.size());
    at_ += s.size();
  }
  void put(char c) { *at_++ = c; }
  void decimal(std::uint64_t value) { at_ = std::to_chars(at_, bytes_.data() + kSize, value).ptr; }
  void decimal(std::int32_t value) { at_ = std::to_chars(at_, bytes_.data() + kSize, value).ptr; }
  // "0x" and the digits without leading zeros.
  void hex(std::uint64_t value) {
    text("0x");
    unsigned digits = value == 0 ? 1 : (67 - static_cast<unsigned>(__builtin_clzll(value))) / 4;
    for (unsigned i = digits; i-- > 0; value >>= 4) at_[i] = "0123456789abcdef"[value & 15];
    at_ += digits;
  }
  std::string_view view() const {
    return {bytes_.data(), static_cast<std::size_t>(at_ - bytes_.data())};
  }
  void clear() { at_ = bytes_.data(); }

 private:
  std::array<char, kSize> bytes_{};
  char* at_ = bytes_.data();
};

}  // namespace hodo::view
