// The events that a recording with the processor's own trace opens, as perf_event_open(2) wants
// them. Two per processor: the trace itself, and a software event that takes no samples but reports
// what the decoder must know about the traced processes (the dummy event of `perf record`,
// intel_pt_recording_options).
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/capture/options.h"
#include "hodo/capture/pmu.h"
#include "hodo/perfdata/model.h"

namespace hodo::capture {

// What both events have in common.
struct EventScope {
  Level level = Level::user;
  bool inherit = true;        // follow what the process starts ...
  bool only_threads = false;  // ... but only its own threads (Linux 5.13)
};

struct TraceEvent {
  perf_event_attr attr = {};
  std::string name;                // "intel_pt//u"
  std::vector<std::string> notes;  // each a complete line: a default that this machine cannot do
};

// The trace event: starts when the process next calls exec (enable_on_exec), and wakes the reader
// when `aux_watermark` bytes of trace are there (0: half of the buffer).
//
// A value in `options` that equals PtOptions' default is a preference: where the machine lacks it,
// the nearest that it has is taken, as perf does, and said in `notes`. Any other value is a demand.
// Errors:
//   unsupported  a demand that this processor or kernel cannot meet; the message lists what it can
//   usage        options that make no sense together
Result<TraceEvent> pt_event(const PtPmu& pmu, const PtOptions& options, const EventScope& scope,
                            std::uint32_t aux_watermark);

// The event of the intel_bts PMU (arch/x86/events/intel/bts.c); it has no options. Otherwise as
// pt_event.
TraceEvent bts_event(std::uint32_t pmu_type, const EventScope& scope, std::uint32_t aux_watermark);

// Samples with a branch stack (LBR, AMD BRS, LbrExtV2) after every `period` branches. On AMD
// processors of Zen 3 the stack (BRS) goes with one event only, which the kernel calls branch-brs
// (arch/x86/events/amd/brs.c); elsewhere any event can have one.
TraceEvent stack_event(const SystemPaths& paths, std::uint64_t period, const EventScope& scope);

// The tracking event: MMAP2 (with build-ids), COMM, FORK and EXIT records, and SWITCH records,
// without which the trace of a processor could not be told apart by thread. Enabled from the start.
perf_event_attr tracking_attr(const EventScope& scope);

// The text for PERF_EVENT_IOC_SET_FILTER (kernel/events/core.c, perf_event_parse_addr_filter):
// "filter 0x1000/0x200@/bin/ls" for each range, separated by blanks; "" for no ranges.
// Errors:
//   unsupported  the processor has no filters, or fewer than asked for; an address without a file,
//                which the kernel only takes for its own code
//   usage        an empty range, or a path that the kernel's syntax cannot express
Result<std::string> filter_text(const PtCaps& caps, std::span<const FilterRange> ranges);

// What a reader of the trace must know about `attr`, as AUXTRACE_INFO holds it; time and filter are
// left for the caller.
perfdata::PtConfig describe_pt(const PtPmu& pmu, const perf_event_attr& attr);

}  // namespace hodo::capture
