// The one bounded reader that all binary input goes through: little-endian, fails instead of
// reading past the end, and checks limits by subtraction so that no sum of untrusted numbers can
// wrap.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace hodo {

class ByteReader {
 public:
  ByteReader() = default;
  // The bytes must outlive the reader and every span it hands out.
  explicit ByteReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::size_t offset() const { return offset_; }
  std::size_t remaining() const { return bytes_.size() - offset_; }
  std::span<const std::uint8_t> rest() const { return bytes_.subspan(offset_); }

  // Reads a trivially copyable T as it lies in memory; nullopt (and no movement) if it does not
  // fit.
  template <class T>
  [[nodiscard]] std::optional<T> read() {
    static_assert(std::is_trivially_copyable_v<T>);
    if (remaining() < sizeof(T)) return std::nullopt;
    T value{};
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  // The next `size` bytes, or nullopt if there are fewer.
  [[nodiscard]] std::optional<std::span<const std::uint8_t>> take(std::uint64_t size) {
    if (size > remaining()) return std::nullopt;
    auto out = bytes_.subspan(offset_, static_cast<std::size_t>(size));
    offset_ += static_cast<std::size_t>(size);
    return out;
  }

  // Moves to an absolute offset; false (and no movement) if it lies behind the end.
  [[nodiscard]] bool seek(std::uint64_t offset) {
    if (offset > bytes_.size()) return false;
    offset_ = static_cast<std::size_t>(offset);
    return true;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t offset_ = 0;
};

}  // namespace hodo
