// Where on their threads' paths findings lie.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hodo/ask/walk.h"
#include "hodo/view/findings.h"

namespace hodo::serve {

struct FindingPlace {
  std::uint64_t branch = 0;        // the number of the branch that was found
  std::uint64_t instructions = 0;  // of the thread, with it
};

// Of each finding, in their order; absent where its branch is not come to. Decodes up to the last
// of them. Errors: as ask::walk.
Result<std::vector<std::optional<FindingPlace>>> places_of(session::Session& session,
                                                           const ask::WalkOptions& walk,
                                                           const view::Checked& checked);

}  // namespace hodo::serve
