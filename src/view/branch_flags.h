// The flags of a branch in words, as CSV and JSON have them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "hodo/flow/branch.h"

namespace hodo::view {

inline constexpr std::array<std::pair<std::uint8_t, std::string_view>, 7> kFlagNames{{
    {kNotTaken, "not_taken"},
    {kAsync, "async"},
    {kTraceEnd, "trace_end"},
    {kInTx, "in_tx"},
    {kMispredicted, "mispredicted"},
    {kFar, "far"},
    {kResync, "resync"},
}};

inline constexpr std::size_t kFlagCombinations = std::size_t{1} << kFlagNames.size();

// The names of the flags that are set, '|' between them.
inline std::string flag_names(std::uint8_t flags) {
  std::string out;
  for (auto [bit, text] : kFlagNames) {
    if ((flags & bit) == 0) continue;
    if (!out.empty()) out += '|';
    out += text;
  }
  return out;
}

}  // namespace hodo::view
