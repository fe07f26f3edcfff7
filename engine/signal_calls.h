// The program's system calls about signals, by its registers; the kernel's answer.
#pragma once

#include "thread_area.h"

namespace hodo::engine {

long sigaction_call(ThreadArea& area);
long sigprocmask_call(ThreadArea& area);
long sigaltstack_call(ThreadArea& area);
long sigreturn_call(ThreadArea& area);  // returns only if a signal came first

// A call of the kill family has succeeded. What a process sends to itself and nothing handles ends
// it before the call returns; the engine's handler may be in another thread, and late.
void await_own_end(const ThreadArea& area);

}  // namespace hodo::engine
