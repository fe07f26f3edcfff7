// The processor's smallest page.
#pragma once

#include <cstdint>

namespace hodo {

inline constexpr unsigned kPageBits = 12;
inline constexpr std::uint64_t kPage = std::uint64_t{1} << kPageBits;  // bytes

}  // namespace hodo
