// ptrace(2) of the program. Whoever is traced by another one is shown to that as it is natively,
// and runs so: the recorder takes the engine out of it before.
#pragma once

#include <cstdint>

#include "thread_area.h"

namespace hodo::engine {

// Before the call that the program's registers ask for. The process is let go, if it is the one
// that is to be traced, as soon as the call is made: then it has not begun (kInterrupted).
void prepare_ptrace(const ThreadArea& area);

}  // namespace hodo::engine
