// Recording on any x86-64 Linux machine: the program runs under qemu-user with our plugin, whose
// trace unit writes the packets that a processor would.
#pragma once

#include <string>

#include "hodo/base/result.h"
#include "hodo/capture/options.h"

namespace hodo::capture {

// What this source needs from the machine.
struct QemuInstallation {
  std::string qemu64;   // qemu-x86_64
  std::string qemu32;   // qemu-i386; empty: 32-bit programs run unrecorded
  std::string plugin;   // libhodo-qemu.so
  std::string watcher;  // libhodo-watcher.so, for RecordOptions::debug_log; may be empty
};

// Finds QEMU in PATH and the plugins next to this program. Errors: unsupported, with the remedy.
Result<QemuInstallation> find_qemu();

// Records options.command into options.output and returns when the program has ended. Errors,
// before the program has run: not_found and not_permitted (the program), unsupported (a program
// that QEMU cannot run), io (the output), usage (options this source does not have). What goes
// wrong later ends the recording, not the program, and is a warning in the result.
Result<RecordResult> record_with_qemu(const RecordOptions& options, const QemuInstallation& qemu,
                                      const std::vector<std::string>& own_command_line);

}  // namespace hodo::capture
