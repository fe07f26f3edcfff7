// Who runs in the guest, from three sides: the kernel's task list, which is what its own tools
// show, the address spaces that exist, whoever they belong to, and the tree of parents and
// children, which has kernel threads too. A process that is missing in the first and is in one of
// the others is hidden.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hodo/guest/running.h"
#include "hodo/guest/tasks.h"

namespace hodo::guest {

struct Resident {
  Process process;
  std::uint64_t cr3 = 0;   // physical address of the top-level table; 0: a kernel thread
  std::string executable;  // path in the guest; empty: a kernel thread, or not readable
  // Its task_struct is in use and in no task list: ps and /proc in the guest do not show it.
  bool hidden = false;
};

struct Census {
  std::vector<Resident> residents;  // in the task list's order, then the hidden ones by pid
  // Values of CR3 that were seen and belong to nobody here: the kernel's own spaces, and processes
  // that have ended since.
  std::vector<std::uint64_t> others;
  // False: this kernel does not say whose an address space is (no CONFIG_MEMCG, or not in its BTF),
  // so processes that are in neither list would not be noticed.
  bool cross_checked = false;
};

// `seen`: values of CR3 that were in use. Address spaces are these and those of the kernel's list
// of top-level tables (pgd_list, which it needs to keep them up to date); the descriptor of a
// table's page names the mm_struct, and that its owner. Children are those of everybody found.
// Memory should stand still meanwhile. At most 65,536 of everything. Errors: malformed (the task
// list leads nowhere).
Result<Census> take_census(const PhysicalMemory& memory, const RunningKernel& running,
                           std::span<const std::uint64_t> seen);

}  // namespace hodo::guest
