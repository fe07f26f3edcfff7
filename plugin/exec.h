// execve(2) of the guest, done so that the new program is recorded too.
#pragma once

#include <cstdint>
#include <string>

#include "guest.h"
#include "hodo/relay/exec_plan.h"

namespace hodo::plugin {

// What to execute in place of the guest's call; `program`: the file that runs now. Errors:
// unsupported: the program can run but not be recorded, with "path\0reason" as message; anything
// else: the call will fail by itself.
Result<relay::ExecPlan> plan_guest_exec(const Guest& guest, std::uint64_t path, std::uint64_t argv,
                                        std::uint64_t envp, const relay::Settings& settings,
                                        const relay::Key& key, const std::string& plugin_option,
                                        const std::string& program);

// Replaces this process; returns only if that failed.
void run(const relay::ExecPlan& plan);

}  // namespace hodo::plugin
