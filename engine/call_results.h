// What the kernel writes to memory in system calls that cannot be made again where it fails to: a
// message is taken from its queue then, a child has been waited for, a thread has ended whose end
// another one waits for. And where it tells nobody that it failed (the time left to select()), or
// does it in part: less is read than there is.
#pragma once

#include "thread_area.h"

namespace hodo::engine {

// Gives back the pages (code_pages.h) that the call which the thread's registers ask for writes so.
void give_back_results(const ThreadArea& area);

// The same where the kernel has just failed to write to memory (EFAULT), and where it is not known
// what the call writes, all of them. False: there were none, so the program's own pages refused.
bool give_back_refused(const ThreadArea& area);

}  // namespace hodo::engine
