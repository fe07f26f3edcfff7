// What a process's filter of system calls (seccomp) lets the engine do.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/types.h>

#include <cstdint>
#include <span>

#include "hodo/base/result.h"

namespace hodo::capture {

// What the kernel does with a call by this filter: SECCOMP_RET_*, with data. A program that the
// kernel would not have taken kills.
std::uint32_t run_filter(std::span<const sock_filter> filter, const seccomp_data& call);

// Whether the filters of all threads let the engine's own system calls pass. Errors: not_permitted
// (they do not, or may not be looked at).
Status check_seccomp(pid_t pid);

}  // namespace hodo::capture
