// The pointer that an indirect call or jump went by, as the text around it tells.
#pragma once

#include <vector>

#include "edge.h"
#include "hodo/check/finding.h"

namespace hodo::check {

// Where the pointer was and what the file says that it held there; empty where the text does not
// say, or the branch is none by a pointer.
std::vector<Fact> pointer_facts(const Edge& edge);

}  // namespace hodo::check
