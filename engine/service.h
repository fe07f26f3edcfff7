// What code in the cache asks the engine's C++ code for, by glue.h.
#pragma once

#include <cstdint>

#include "thread_area.h"

namespace hodo::engine {

// The program goes on at `ip`, with its registers as they are saved.
void go_on_at(ThreadArea& area, std::uint64_t ip);

// The same of a thread that is being traced.
void go_on_traced(ThreadArea& area, std::uint64_t ip);

// The same, and tracing begins there.
void enter_at(ThreadArea& area, std::uint64_t ip);

// The system call that the program's registers ask for, made at `ip`, goes on at `behind`.
void system_call(ThreadArea& area, std::uint64_t ip, std::uint64_t behind);
// The same of INT 0x80 at `ip`, tracing of which stops at `left_at`. False: it is none, or asks for
// nothing that concerns the engine, and can run natively.
bool interrupt_call(ThreadArea& area, std::uint64_t ip, std::uint64_t left_at);

}  // namespace hodo::engine
