// Recording processes inside a virtual machine, from outside: the machine runs under
// qemu-system-x86_64 without hardware virtualisation (TCG), with our plugin, whose trace units
// write what the processors would.
#pragma once

#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/capture/options.h"
#include "hodo/guest/watch.h"

namespace hodo::capture {

struct VmOptions {
  // command: qemu-system-x86_64 with its arguments. Filters, pid, snapshot and source are not used.
  RecordOptions record;
  // Which privilege levels; at least one.
  bool user = true;
  bool kernel = false;
  guest::WatchList watch;
};

struct VmResult {
  RecordResult record;
  std::string guest;  // the guest's kernel, or why it is not known
};

// Runs the machine, writes options.record.output and returns when the machine has ended. Errors,
// before it has run: not_found and not_permitted (QEMU, the plugin, the output folder), usage (a
// command that is no qemu-system-x86_64, asks for KVM, or nobody to watch), io, no_space. What goes
// wrong later is a warning in the result.
Result<VmResult> record_vm(const VmOptions& options,
                           const std::vector<std::string>& own_command_line);

}  // namespace hodo::capture
