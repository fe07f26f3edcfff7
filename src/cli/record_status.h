// How the commands that record tell their own failures by the exit status.
#pragma once

#include "hodo/base/result.h"

namespace hodo::cli {

// A recorder's own failures leave the statuses of programs alone, as env(1) and timeout(1) do.
inline constexpr int kExitCannotRecord = 125;
inline constexpr int kExitCannotExecute = 126;
inline constexpr int kExitNotFound = 127;

// Of a recording that did not come about.
int exit_status_of(const Error& error);

}  // namespace hodo::cli
