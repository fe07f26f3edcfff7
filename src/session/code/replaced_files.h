// When what a process had mapped gave way to something else.
#pragma once

#include <cstdint>
#include <vector>

#include "hodo/perfdata/model.h"

namespace hodo::session {

// Times of the trace's clock, ascending. What an exec ended is replaced from then on, not first
// where something else is mapped.
struct Replacements {
  // From which on an address belongs to another file, or to another place in it.
  std::vector<std::uint64_t> files;
  // From which on an address that had a name may have another one, or none. Code that was changed
  // is called as what it was, and what is mapped where nothing was takes no name away.
  std::vector<std::uint64_t> names;
};

// Of `mappings`, in the order of their times. Empty without a common clock.
Replacements replacements(const std::vector<perfdata::Mapping>& mappings,
                          const std::vector<perfdata::File>& files,
                          const perfdata::TimeConversion& clock);

}  // namespace hodo::session
