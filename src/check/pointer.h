// The pointer that an indirect call or jump went by, as the text around it tells.
#pragma once

#include <vector>

#include "edge.h"
#include "hodo/check/finding.h"

namespace hodo::check {

// Where the pointer was and what the file says that it held there; empty where the text does not
// say, or the branch is none by a pointer.
std::vector<Fact> pointer_facts(const Edge& edge);

// Whether the branch takes its target from a table of which only a pointer is in the file, and the
// file says nothing of what this pointer holds: the program makes the table when it runs.
bool is_by_runtime_table(const Edge& edge);

}  // namespace hodo::check
