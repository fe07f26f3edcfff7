// A system call of the program that the kernel makes, and what it does to the program's memory.
#pragma once

#include "thread_area.h"

namespace hodo::engine {

// The kernel's answer to the call that the program's registers ask for; kInterrupted if a signal
// came first. What it maps, unmaps or protects is noted, so is the code that it takes away.
long passed_on(ThreadArea& area);

// In a child with a memory of its own: what its parent's advice (MADV_DONTFORK, MADV_WIPEONFORK)
// has left it without. Under the engine's lock.
void forget_not_inherited();

// The program may not take away or replace what the engine lives in, whose addresses it can only
// have from /proc.
bool is_against_engine(const ThreadArea& area);

}  // namespace hodo::engine
