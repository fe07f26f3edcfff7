// Records a program by stepping it with ptrace(2): for machines without trace hardware and without
// QEMU. Each stop costs two context switches, tens of microseconds in a virtual machine.
//
// PTRACE_SINGLEBLOCK (DEBUGCTL.BTF) stops behind taken branches only; where a hypervisor ignores
// BTF every instruction is stepped. Either way the file has BTS records, as the trace unit under
// QEMU writes them (docs/file-format.md).
#pragma once

#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/capture/options.h"

namespace hodo::capture {

// Stepping leaves out nothing that these options ask for.
bool step_can(const RecordOptions& options);

// Errors, before the program has run: usage (no command, or options that need another source),
// not_permitted (ptrace is forbidden here), and those of Program::start and perfdata::Writer.
Result<RecordResult> record_by_stepping(const RecordOptions& options,
                                        const std::vector<std::string>& own_command_line);

}  // namespace hodo::capture
