// The program's system calls about signals, by its registers; the kernel's answer.
#pragma once

#include "thread_area.h"

namespace hodo::engine {

long sigaction_call(ThreadArea& area);
long sigprocmask_call(ThreadArea& area);
long sigaltstack_call(ThreadArea& area);
long sigreturn_call(ThreadArea& area);  // returns only if a signal came first

}  // namespace hodo::engine
