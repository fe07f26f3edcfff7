// The processes and threads of a recording as a tree.
#pragma once

#include <vector>

#include "hodo/session/facts.h"
#include "hodo/view/profile.h"
#include "hodo/view/report.h"

namespace hodo::view {

// Processes below their parents, each followed by its threads if it has more than one; of a
// system-wide recording only those that left branches, and their ancestors.
std::vector<TaskLine> task_tree(const session::Facts& facts, const Profile& profile);

}  // namespace hodo::view
