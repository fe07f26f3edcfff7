// Records a program with the processor's own branch trace through the kernel's perf interface:
// Intel PT, Intel BTS, or samples with a stack of last branches (Intel LBR, AMD BRS and LbrExtV2).
//
// One event per processor, on the program's process, inherited by its threads and children: the
// kernel does not let per-thread events with trace buffers be inherited (perf_mmap: cpu == -1 &&
// inherit is EINVAL), and following threads as they appear would miss their beginnings. This is
// what `perf record -e intel_pt//u -- CMD` does, too. The buffers are therefore per processor, and
// SWITCH records tell whose trace it was at any time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/capture/kernel.h"
#include "hodo/capture/options.h"
#include "hodo/capture/pmu.h"

namespace hodo::capture {

// What the source takes from its surroundings; the defaults are the real thing.
struct PerfEventContext {
  SystemPaths paths;
  Kernel* kernel = nullptr;          // nullptr: system_kernel(); must outlive the call
  std::vector<std::string> cmdline;  // hodo's own, for the file's header
  std::string version;               // "hodoscope 0.1.0"
};

// Can this machine record that (pt, bts or lbr) of an unprivileged program now? If not, the reason
// and the remedy. Opens and closes one event. Errors: unsupported, not_permitted, io,
// malformed.
Status probe_perf_event(SourceKind source, const PerfEventContext& context = {});

// Runs options.command under options.source (pt unless bts or lbr) and writes options.output, until
// the program ends, or a signal or options.max_size ends the recording; then waits for the program.
// With options.snapshot the newest part of the trace is written at every SIGUSR2 and at the end.
// What was lost is said in RecordResult::warnings. Errors, all of them before the program has run,
// so that no file is left and an old one stays:
//   usage          no command, a process id, options that contradict each other
//   not_found, not_permitted   the command (see find_command and exec_failure_status)
//   io             the output
//   and those of probe_perf_event, pt_event, filter_text
// and while it runs or after: io, no_space, if the file cannot be written; it is then left
// unfinished, the program is not disturbed.
Result<RecordResult> record_perf_event(const RecordOptions& options,
                                       const PerfEventContext& context = {});

}  // namespace hodo::capture
