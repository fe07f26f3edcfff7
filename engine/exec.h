// The program executes another one: the recorder, which holds the thread with ptrace over the
// exec, starts the engine in it.
#pragma once

#include "thread_area.h"

namespace hodo::engine {

// execve and execveat of the program; the kernel's answer.
long exec_call(ThreadArea& area);

}  // namespace hodo::engine
