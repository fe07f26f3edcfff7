// What it means when the kernel refuses a part of the recording, and what the user can do about it.
#pragma once

#include <string_view>

#include "hodo/base/result.h"
#include "hodo/capture/pmu.h"

namespace hodo::capture {

// perf_event_open of the trace event failed with `reason` (an errno). `trace` is what the event
// records: "Intel PT".
Error open_refused(int reason, const SystemPaths& paths, std::string_view trace);
// Mapping a ring or AUX buffer failed.
Error map_refused(int reason, const SystemPaths& paths);
// PERF_EVENT_IOC_SET_FILTER failed for `filter`.
Error filter_refused(int reason, const std::string& filter);

}  // namespace hodo::capture
