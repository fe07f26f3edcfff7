#include "overlap.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace hodo::perfdata {
namespace {

constexpr std::array<std::uint8_t, 16> kPsb = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
                                               0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82};

// The first PSB at or behind `from`; bytes.size() if there is none.
std::size_t find_psb(std::span<const std::uint8_t> bytes, std::size_t from) {
  if (from >= bytes.size()) return bytes.size();
  const void* at = ::memmem(bytes.data() + from, bytes.size() - from, kPsb.data(), kPsb.size());
  if (at == nullptr) return bytes.size();
  return static_cast<std::size_t>(static_cast<const std::uint8_t*>(at) - bytes.data());
}

}  // namespace

std::optional<std::size_t> find_overlap(std::span<const std::uint8_t> earlier,
                                        std::span<const std::uint8_t> later) {
  const std::size_t begin = find_psb(later, 0);
  const auto wanted = later.subspan(begin);
  if (wanted.empty()) return std::nullopt;
  std::size_t work = 16 * (earlier.size() + later.size());
  // The earliest place in `earlier` whose rest fits into `wanted` gives the longest overlap.
  std::size_t at = earlier.size() > wanted.size() ? earlier.size() - wanted.size() : 0;
  for (at = find_psb(earlier, at); at < earlier.size(); at = find_psb(earlier, at + 1)) {
    const auto rest = earlier.subspan(at);
    const auto differs = std::mismatch(rest.begin(), rest.end(), wanted.begin());
    if (differs.first == rest.end()) return begin + rest.size();
    const auto compared = static_cast<std::size_t>(differs.first - rest.begin()) + kPsb.size();
    if (compared > work) return std::nullopt;
    work -= compared;
  }
  return std::nullopt;
}

std::optional<std::size_t> find_bts_overlap(std::span<const std::uint8_t> earlier,
                                            std::span<const std::uint8_t> later) {
  constexpr std::size_t kRecord = 24;
  std::size_t work = 16 * (earlier.size() + later.size());
  std::size_t at = earlier.size() > later.size() ? earlier.size() - later.size() : 0;
  for (at = (at + kRecord - 1) / kRecord * kRecord; at < earlier.size(); at += kRecord) {
    const auto rest = earlier.subspan(at);
    const auto differs = std::mismatch(rest.begin(), rest.end(), later.begin());
    if (differs.first == rest.end()) return rest.size();
    const auto compared = static_cast<std::size_t>(differs.first - rest.begin()) + kRecord;
    if (compared > work) return std::nullopt;
    work -= compared;
  }
  return std::nullopt;
}

}  // namespace hodo::perfdata
