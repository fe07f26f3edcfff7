// Counts by address need to know when an address came to mean another file.
#pragma once

#include <cstdint>

#include "hodo/session/names.h"

namespace hodo::session {

// The eras of what is counted, branch after branch: asks only where it may have changed.
class Eras {
 public:
  // `names` must outlive this.
  explicit Eras(const Names& names) : names_(names) {}

  std::uint32_t at(std::uint32_t space, std::uint64_t time) {
    if (space != space_ || time < now_.from || time >= now_.until) {
      now_ = names_.era(space, time);
      space_ = space;
    }
    return now_.number;
  }

 private:
  const Names& names_;
  Era now_{.until = 0};  // nothing is known
  std::uint32_t space_ = 0;
};

}  // namespace hodo::session
