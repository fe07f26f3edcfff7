// What the kernel writes to memory in system calls that cannot be made again where it fails to: a
// message is taken from its queue then, a child has been waited for, a thread has ended whose end
// another one waits for. And where it could be done in part: less is read than there is.
#pragma once

#include "thread_area.h"

namespace hodo::engine {

// Gives back the pages (code_pages.h) that the call which the thread's registers ask for writes so.
void give_back_results(const ThreadArea& area);

}  // namespace hodo::engine
