// Shared by the parsers of records: a ByteReader that remembers that something did not fit, so that
// a parser reads straight down and looks once at the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "hodo/base/byte_reader.h"
#include "hodo/perfdata/records.h"

namespace hodo::perfdata {

class FieldReader {
 public:
  explicit FieldReader(std::span<const std::uint8_t> bytes) : in_(bytes) {}

  // Zero once a field did not fit.
  template <class T>
  T get() {
    if (auto value = ok_ ? in_.read<T>() : std::nullopt) return *value;
    ok_ = false;
    return T{};
  }
  std::uint32_t u32() { return get<std::uint32_t>(); }
  std::uint64_t u64() { return get<std::uint64_t>(); }
  std::int32_t i32() { return get<std::int32_t>(); }

  std::span<const std::uint8_t> take(std::uint64_t size) {
    if (auto bytes = ok_ ? in_.take(size) : std::nullopt) return *bytes;
    ok_ = false;
    return {};
  }
  // `count` elements of T.
  template <class T>
  PackedArray<T> array(std::uint64_t count) {
    if (!ok_ || count > in_.remaining() / sizeof(T)) {
      ok_ = false;
      return {};
    }
    return PackedArray<T>(take(count * sizeof(T)));
  }
  // All bytes that are left, down to whole elements.
  template <class T>
  PackedArray<T> array_rest() {
    return array<T>(in_.remaining() / sizeof(T));
  }
  std::span<const std::uint8_t> rest() { return take(ok_ ? in_.remaining() : 0); }
  // Characters up to a NUL or the end; everything that is left is used up.
  std::string_view string_rest() { return c_string(rest()); }

  std::size_t remaining() const { return in_.remaining(); }
  bool ok() const { return ok_; }

  static std::string_view c_string(std::span<const std::uint8_t> bytes) {
    const auto end = std::find(bytes.begin(), bytes.end(), std::uint8_t{0});
    return {reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::size_t>(end - bytes.begin())};
  }

 private:
  ByteReader in_;
  bool ok_ = true;
};

// What every parser of one body returns into; nullopt-like failure is FieldReader::ok().
Body parse_kernel_body(RecordType type, std::uint16_t misc, FieldReader& in);
Body parse_tool_body(const RawRecord& raw, FieldReader& in);
Sample parse_sample(FieldReader& in, const Layout& layout);

// The trailer that `layout` puts behind each kernel record, in bytes.
std::size_t trailer_size(const Layout& layout);
SampleId parse_trailer(FieldReader& in, const Layout& layout);

perf_event_attr parse_attr(std::span<const std::uint8_t> bytes);

}  // namespace hodo::perfdata
