#include "ghc_tables.h"

#include <algorithm>
#include <optional>

#include "hodo/base/byte_reader.h"

namespace hodo::text {
namespace {

// Of a function whose arguments need a bitmap, right in front of its code.
std::optional<std::uint64_t> slow_entry(std::uint64_t entry, const TextMap& text) {
  constexpr std::uint64_t kSize = 0x28;
  constexpr std::uint32_t kBitmapTypes = 2;  // ARG_GEN and ARG_GEN_BIG
  constexpr std::uint32_t kFun = 8;
  constexpr std::uint32_t kFunStatic = 14;
  if (entry < kSize) return std::nullopt;
  ByteReader table(text.bytes(entry - kSize));
  const auto distance = table.read<std::int32_t>();
  const auto sign = table.read<std::int32_t>();  // or zero, up to GHC 9.6 or so
  const auto bitmap = table.read<std::uint64_t>();
  const auto arguments = table.read<std::uint32_t>();  // of which type
  const auto arity = table.read<std::uint32_t>();
  const auto layout = table.read<std::uint64_t>();
  const auto type = table.read<std::uint32_t>();
  if (!type || !bitmap || !layout || *arguments >= kBitmapTypes || *arity == 0) return std::nullopt;
  if (*type < kFun || *type > kFunStatic) return std::nullopt;
  if (*distance >= 0 || (*sign != 0 && *sign != -1)) return std::nullopt;
  const std::uint64_t target = entry + static_cast<std::uint64_t>(std::int64_t{*distance});
  return text.contains(target) ? std::optional(target) : std::nullopt;
}

}  // namespace

std::vector<std::uint64_t> slow_entries(std::span<const std::uint64_t> entries,
                                        const TextMap& text) {
  std::vector<std::uint64_t> out;
  for (const std::uint64_t entry : entries) {
    if (const auto slow = slow_entry(entry, text)) out.push_back(*slow);
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

}  // namespace hodo::text
