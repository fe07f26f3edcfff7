// Recording on any x86-64 Linux machine at close to native speed: the program's own instructions
// run, from copies that our engine makes inside its process and that write Intel PT packets.
#pragma once

#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/capture/options.h"

namespace hodo::capture {

// The engine's file. Errors: unsupported, with the remedy (not installed, a processor without
// SSE 4.2, a kernel that lets nobody be held with ptrace).
Result<std::string> find_engine();

// What it cannot do of what was asked for; success: it can do all. Errors: usage.
Status dbi_can(const RecordOptions& options);

// Records options.command into options.output and returns when the program has ended. Errors,
// before the program has run: not_found and not_permitted (the program), unsupported (a 32-bit
// program), io (the output), usage (dbi_can). What goes wrong later ends the recording, not the
// program, and is a warning in the result.
Result<RecordResult> record_with_engine(const RecordOptions& options, const std::string& engine,
                                        const std::vector<std::string>& own_command_line);

}  // namespace hodo::capture
