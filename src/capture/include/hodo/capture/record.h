// The one entry to all capture sources.
#pragma once

#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/capture/options.h"

namespace hodo::capture {

// Records as `options` say; `automatic` takes the processor's own trace where the kernel offers it,
// else QEMU, as bts and lbr do; without a QEMU that loads plugins it steps, and says so. Options
// that only one of the two has choose it: wait_all and debug_log QEMU, a level above user mode the
// processor. Errors as of the sources (perf_event_source.h, qemu_source.h); `unsupported` for a
// source that this machine does not have, with the reason.
Result<RecordResult> record(const RecordOptions& options,
                            const std::vector<std::string>& own_command_line);

}  // namespace hodo::capture
