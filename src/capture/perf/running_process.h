// Processes that run already when the kernel begins to trace them: what its records would have told
// is read from /proc.
#pragma once

#include <sys/types.h>

#include <span>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/perfdata/writer.h"

namespace hodo::capture {

struct RunningProcess {
  pid_t pid = 0;
  std::vector<pid_t> threads;  // that are to be traced
};

// `only`: of all threads those; empty: all. Errors: not_found (no such process, or none of its
// threads), usage (a thread's number).
Result<RunningProcess> look_at_process(pid_t pid, std::span<const int> only);

// Its threads' names and what it has mapped, as perf writes them: from before everything else.
Status write_running(perfdata::Writer& writer, const RunningProcess& process);

}  // namespace hodo::capture
