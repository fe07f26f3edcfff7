// The processes and threads of a recording as a tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hodo/analyze/profile.h"
#include "hodo/session/facts.h"

namespace hodo::analyze {

// A node of the tree: a process, or a thread below its process. Strings are raw.
struct TaskLine {
  std::int32_t pid = -1;
  std::int32_t tid = -1;
  std::size_t depth = 0;  // below the tree's roots
  bool thread = false;    // not the process itself but one of its threads
  std::string comm;
  std::uint64_t wall_ns = 0;  // as far as the recording saw it; 0: unknown
  TaskTotals totals;          // of a process: with its threads
};

// Processes below their parents, each followed by its threads if it has more than one; of a
// system-wide recording only those that left branches, and their ancestors.
std::vector<TaskLine> task_tree(const session::Facts& facts, const Profile& profile);

}  // namespace hodo::analyze
