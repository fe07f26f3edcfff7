// When a process had a file mapped where another one was before.
#pragma once

#include <cstdint>
#include <vector>

#include "hodo/perfdata/model.h"

namespace hodo::session {

// The times, of the trace's clock and ascending, from which on an address of `mappings` belongs to
// another file, or to another place in it. What an exec ended is replaced from then on, not first
// where something else is mapped. Empty without a common clock.
std::vector<std::uint64_t> replacement_times(const std::vector<perfdata::Mapping>& mappings,
                                             const perfdata::TimeConversion& clock);

}  // namespace hodo::session
