// The program's threads and processes: each has an area of its own, whoever's memory it runs in.
#pragma once

#include <cstdint>

#include "thread_area.h"

namespace hodo::engine {

// Memory for a thread, with the signal actions of its parent; null: the first thread.
ThreadArea* make_area(ThreadArea* parent);

// The thread that runs here begins to be traced at `ip`; `tid` names it (0: the first).
void begin_thread(ThreadArea& area, std::uint64_t ip, long tid);

// clone, clone3, fork or vfork of the program, which goes on at `behind`.
long clone_call(ThreadArea& area, std::uint64_t behind);

// exit and exit_group.
[[noreturn]] void exit_call(ThreadArea& area);

// Whose code is running: by the stack pointer.
ThreadArea& current_area();

}  // namespace hodo::engine
