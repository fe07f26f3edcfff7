// Signals that a program may send to its whole process group, which hodo shares with it.
#pragma once

#include <csignal>

namespace hodo::capture {

// Those of them that would end this process and that say nothing to it: SIGUSR1, SIGABRT, SIGRTMIN
// and so on. Not those that ask for an end (SIGINT, SIGTERM, SIGQUIT, SIGHUP), nor what an
// instruction of this process's own raises, nor what tells of its own pipes and limits, nor what it
// has a handler for (a profiler's) or ignores.
sigset_t group_signals();

}  // namespace hodo::capture
