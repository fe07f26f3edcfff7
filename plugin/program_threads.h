// The program's threads and processes, from the first event of each to its end.
#pragma once

#include <cstdint>

#include "syscalls.h"

namespace hodo::plugin {

// The first block of a thread, or of the whole program.
void first_event();
// By exit(2), or exit_group(2) and with it the `process`.
void end_thread(std::uint64_t status, bool process);
// The thread makes a system call that makes a thread or a process; the kernel has answered.
void on_clone(std::uint64_t flags);
void on_clone_return(std::int64_t result);
// A signal ends the program. Nothing here waits for a lock: another thread may hold it for ever.
void before_fatal_signal(int signal);
// The system call replaces memory, or takes it away. Where that is a channel's, its thread is not
// recorded any more, and the recording says so.
void give_up_channels_in(const TakenMemory& taken);

// Around fork(), for pthread_atfork(). The connection is made before it, not in the child: this
// process may be gone before the child runs, and the recorder must not take the program for ended
// in between.
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

}  // namespace hodo::plugin
