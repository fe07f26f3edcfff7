// For an engine that runs the program itself and writes the frequent packets inline, TNT and TIP:
// where in a PtUnit its code finds what it moves. It keeps the pending outcomes in a register,
// under a stop bit as a TNT packet has them (1: none are pending); what is rare it asks the unit
// for (PtUnit, "Without blocks").
#pragma once

#include <cstddef>
#include <cstdint>

#include "hodo/unit/pt_unit.h"

namespace hodo::unit {

struct InlinePt {
  static constexpr std::size_t kCursor = offsetof(PtUnit, cursor_);
  static constexpr std::size_t kLimit = offsetof(PtUnit, limit_);
  // The last IP without its lowest 16 bits, shifted right with its sign. Canonical addresses have
  // the same only if they have the same low half of it.
  static constexpr std::size_t kLastHigh = offsetof(PtUnit, last_high_);
  static constexpr std::uint64_t kNoOutcomes = 1;
};

}  // namespace hodo::unit
