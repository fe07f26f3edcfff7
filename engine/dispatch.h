// Syscall User Dispatch: a thread has the kernel send it SIGSYS in place of its system calls, as
// Wine does. The kernel would do so with the engine's, too: so the engine does it in its place.
#pragma once

#include <cstdint>

#include "thread_area.h"

namespace hodo::engine {

inline constexpr std::uint64_t kSetUserDispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11

// prctl(PR_SET_SYSCALL_USER_DISPATCH, ...): 0, or why not (kernel/entry/syscall_user_dispatch.c).
long dispatch_call(ThreadArea& area);
// Whether the call that the registers say, in front of `behind`, is not to be made. Then SIGSYS
// waits for the thread, or it ends by what the selector's address has raised.
bool dispatches(ThreadArea& area, std::uint64_t behind);

}  // namespace hodo::engine
