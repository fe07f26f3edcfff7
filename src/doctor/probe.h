// Opens an event of each kind and closes it again: what the kernel says to that is the truth about
// all the rights, limits and other users that no file tells of.
#pragma once

#include "hodo/capture/kernel.h"
#include "hodo/capture/pmu.h"
#include "hodo/doctor/facts.h"

namespace hodo::doctor {

// Events of this thread's user code, disabled.
Probes probe_events(capture::Kernel& kernel, const capture::SystemPaths& paths);

}  // namespace hodo::doctor
