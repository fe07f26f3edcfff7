// Numbers of seven bits to a byte (LEB128), since most are small: what indexes and overviews are
// kept as.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hodo {

class NumberWriter {
 public:
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<std::uint8_t>(value));
  }
  void text(std::string_view words) {
    number(words.size());
    bytes_.insert(bytes_.end(), words.begin(), words.end());
  }
  void bytes(std::span<const std::uint8_t> some) {
    number(some.size());
    bytes_.insert(bytes_.end(), some.begin(), some.end());
  }
  // From one number to another that is near it, on whichever side.
  void step(std::uint64_t from, std::uint64_t to) {
    const std::uint64_t by = to - from;
    number(by << 1 ^ (by >> 63 != 0 ? ~std::uint64_t{0} : 0));
  }
  std::size_t size() const { return bytes_.size(); }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

// Numbers that anybody may have made up: once one is missing or too large, all are 0, and good() is
// false. The bytes must outlive it.
class NumberReader {
 public:
  explicit NumberReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint64_t number(std::uint64_t most = ~std::uint64_t{0}) {
    // Most have one byte.
    if (good_ && at_ != bytes_.size() && bytes_[at_] < 0x80 && bytes_[at_] <= most) {
      return bytes_[at_++];
    }
    std::uint64_t value = 0;
    for (unsigned shift = 0; good_; shift += 7) {
      if (at_ == bytes_.size() || shift > 63) break;
      const std::uint8_t byte = bytes_[at_++];
      if (shift == 63 && byte > 1) break;
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) != 0) continue;
      if (value > most) break;
      return value;
    }
    good_ = false;
    return 0;
  }
  // A place that does not lie before `base`.
  std::uint64_t behind(std::uint64_t base) { return base + number(~base); }
  // Where step() leads from there.
  std::uint64_t step(std::uint64_t from) {
    const std::uint64_t coded = number();
    return from + (coded >> 1 ^ ((coded & 1) != 0 ? ~std::uint64_t{0} : 0));
  }
  // How many things follow, each of which takes so many bytes at least.
  std::size_t count(std::size_t least = 1) {
    const std::uint64_t value = number();
    if (value > (bytes_.size() - at_) / least) good_ = false;  // of what is behind it
    return good_ ? static_cast<std::size_t>(value) : 0;
  }
  std::string text() {
    const auto letters = bytes();
    return {reinterpret_cast<const char*>(letters.data()), letters.size()};
  }
  // What text() or bytes() wrote, where it lies.
  std::span<const std::uint8_t> bytes() {
    const std::size_t size = count();
    at_ += size;
    return bytes_.subspan(at_ - size, size);
  }
  void refuse() { good_ = false; }
  std::size_t offset() const { return at_; }  // of what comes next
  bool good() const { return good_; }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

}  // namespace hodo
