// The kernel's own description of its types (Documentation/bpf/btf.rst): where a field lies in a
// structure of exactly this kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"

namespace hodo::guest {

class Btf {
 public:
  // `bytes` begin with the header and must outlive the Btf; what lies behind the end is ignored.
  // Errors: truncated, malformed (with the offset), unsupported (another byte order or version).
  static Result<Btf> parse(std::span<const std::uint8_t> bytes);

  // The offset in bytes of a member of `struct structure`, also where the member lies in an unnamed
  // struct or union. Nullopt: no such structure or member, or a bit-field. Linear in the number of
  // types.
  std::optional<std::uint32_t> offset_of(std::string_view structure, std::string_view member) const;
  // The size in bytes of `struct structure`; nullopt: no such structure.
  std::optional<std::uint32_t> size_of(std::string_view structure) const;

 private:
  std::string_view name(std::uint32_t offset) const;
  bool is_composite(std::uint32_t type) const;

  std::span<const std::uint8_t> types_;
  std::span<const std::uint8_t> strings_;
  std::vector<std::uint32_t> offsets_;  // of type i + 1 in types_
};

}  // namespace hodo::guest
