// Filters of system calls (seccomp) that the program gives itself.
#pragma once

#include "thread_area.h"

namespace hodo::engine {

// The call that the registers say asks for a filter.
bool asks_for_filter(const Registers& r);
// Makes it, with a filter that lets the engine's own calls through: those from its own
// instructions, which code of the program never runs. What the program calls its filter judges as
// natively.
long filter_call(ThreadArea& area);

// rt_sigaction, rt_sigprocmask or sigaltstack, which the engine plays itself with calls of its own:
// 0, or what a filter answers to it.
long ask_filter(ThreadArea& area);
// Whether there is one, of a program that begins or is attached to.
void look_for_filter();
bool has_filter();

}  // namespace hodo::engine
