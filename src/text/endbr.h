// The instructions that mark where indirect branches may lead (SDM 1, "Control-flow Enforcement
// Technology").
#pragma once

#include <array>
#include <cstdint>

namespace hodo::text {

inline constexpr std::array<std::uint8_t, 4> kEndbr64 = {0xf3, 0x0f, 0x1e, 0xfa};
inline constexpr std::array<std::uint8_t, 4> kEndbr32 = {0xf3, 0x0f, 0x1e, 0xfb};

}  // namespace hodo::text
