// Recording the processes of a virtual machine that is running already, on the processor itself
// (KVM), from outside: Intel PT on the threads that run its virtual processors, through the stock
// kernel's perf events.
//
// The kernel keeps the guest's packets in the host's buffer where kvm_intel.pt_mode is 0, its
// default. hodo keeps the guest's part of it (guest_part.h) and says by the PIP packets in it which
// address space ran when: the file has a buffer for each virtual processor, a process for each
// address space, and SWITCH records, as those of record_vm do. Names and code come from the guest's
// memory (attached_guest.h). Its time is the guest's TSC.
#pragma once

#include <string>

#include "hodo/base/result.h"
#include "hodo/capture/options.h"
#include "hodo/capture/perf_event_source.h"

namespace hodo::capture {

struct VmAttachOptions {
  std::string qmp_socket;
  // Output, Intel PT's knobs, max_size, buffer_size and recorder are used. Return compression is
  // always off and cycle counts on where the processor has them: see docs/vm-attach.md.
  RecordOptions record;
  double seconds = 0;  // how long to record; 0: until SIGINT, SIGTERM or the machine's end
};

// Records until the time is over, a signal comes (SIGINT, SIGTERM, SIGHUP, SIGQUIT), the machine
// ends or max_size is reached; the machine goes on. Errors, with no file touched: those of
// Qmp::connect, read_pt_pmu, probe_perf_event; unsupported (the machine does not use KVM, or
// kvm_intel.pt_mode keeps its trace from the host); io, no_space.
Result<RecordResult> record_vm_attach(const VmAttachOptions& options,
                                      const PerfEventContext& context = {});

}  // namespace hodo::capture
