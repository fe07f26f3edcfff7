// Why a process cannot be attached to, by the rule that forbids it and with a remedy.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "hodo/base/result.h"

namespace hodo::capture {

// Its threads could not be held with ptrace, with this errno of the kernel's; EBUSY: one does not
// stop.
Error refusal_to_hold(pid_t pid, int error);
// Nor the engine's memory be mapped there, at `address`; 0: anywhere.
Error refusal_of_memory(pid_t pid, std::uint64_t address, int error);

}  // namespace hodo::capture
