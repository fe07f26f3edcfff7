// Bytes of an instruction as text, for failures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

namespace hodo::isa {

inline std::string hex(std::span<const std::uint8_t> bytes) {
  std::string out;
  for (const std::uint8_t byte : bytes.first(std::min<std::size_t>(bytes.size(), 15))) {
    constexpr const char* kDigits = "0123456789abcdef";
    out += {kDigits[byte >> 4], kDigits[byte & 15], ' '};
  }
  return out;
}

}  // namespace hodo::isa
