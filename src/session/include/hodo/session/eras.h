// Counts by address need to know when an address came to mean another file, and which spaces have
// the same one there.
#pragma once

#include <cstdint>

#include "hodo/session/names.h"

namespace hodo::session {

// What counts by address can be added up in.
struct Counted {
  std::uint32_t space = 0;  // kKernelSpace for the kernel's own code, whosever process ran it
  std::uint32_t era = 0;    // Era::number there
};

// Of what is counted, branch after branch: asks only where it may have changed.
class Eras {
 public:
  // `names` must outlive this.
  explicit Eras(const Names& names) : names_(names) {}

  // Of the code from one address to another.
  Counted of(std::uint32_t space, std::uint64_t from, std::uint64_t to, std::uint64_t time) {
    const bool kernel = (from & to) >> 63 != 0;
    if (kernel) space = kKernelSpace;
    Known& known = known_[kernel ? 1 : 0];
    if (space != known.space || time < known.now.from || time >= known.now.until) {
      known = {space, names_.era(space, time)};
    }
    return {space, known.now.number};
  }

 private:
  struct Known {
    std::uint32_t space = 0;
    Era now{.until = 0};  // nothing is known
  };
  const Names& names_;
  Known known_[2];
};

}  // namespace hodo::session
