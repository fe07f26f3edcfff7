// Bytes put together for the file: records and header sections.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hodo::perfdata {

class ByteWriter {
 public:
  template <class T>
  ByteWriter& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    return *this;
  }
  ByteWriter& u32(std::uint32_t value) { return put(value); }
  ByteWriter& u64(std::uint64_t value) { return put(value); }
  ByteWriter& i32(std::int32_t value) { return put(value); }

  ByteWriter& raw(std::span<const std::uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  // The characters, a NUL, and zeros up to a multiple of `alignment` of the string's own length.
  ByteWriter& string(std::string_view text, std::size_t alignment) {
    const auto at = bytes_.size();
    bytes_.resize(at + (text.size() / alignment + 1) * alignment);
    std::ranges::copy(text, bytes_.begin() + static_cast<std::ptrdiff_t>(at));
    return *this;
  }
  // Zeros up to a multiple of `alignment` of everything.
  ByteWriter& align(std::size_t alignment) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    return *this;
  }
  // Overwrites a T that was put before.
  template <class T>
  void set(std::size_t offset, const T& value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof(T));
  }

  std::size_t size() const { return bytes_.size(); }
  std::span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

}  // namespace hodo::perfdata
