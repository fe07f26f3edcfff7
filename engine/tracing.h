// What the engine tells a thread's trace unit of the program's way, beside what code in the cache
// writes or tells itself. ThreadArea::outcomes, where they are meant, are none afterwards.
#pragma once

#include <cstdint>

#include "thread_area.h"

namespace hodo::engine {

// A system call leaves the program.
void trace_system_call(ThreadArea& area);
// A signal, a fault or an instruction that the engine does not know takes control at `ip`, the next
// instruction that would have run; ThreadArea::in_block tells where that is.
void trace_interruption(ThreadArea& area, std::uint64_t ip);
// An indirect branch or a return leads to `ip`, where nothing can be.
void trace_branch(ThreadArea& area, std::uint64_t ip);
// Execution goes on at `ip`.
void trace_from(ThreadArea& area, std::uint64_t ip);

}  // namespace hodo::engine
