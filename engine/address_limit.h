// The program's limit of addresses (RLIMIT_AS). The kernel would count the engine's memory against
// it: so the limit that the kernel has is higher than the one that the program has set, by so much
// that it never holds, and the engine refuses in its place what the program's own mappings would
// exceed. Processes that are forked and programs that are executed have it from the kernel. Not
// counted are stacks that grow, and System V shared memory.
#pragma once

#include <optional>

#include "thread_area.h"

namespace hodo::engine {

// Of a process that has got one from outside; nothing where it may not raise it.
void raise_address_limit();
// For who goes on without the engine.
void give_back_address_limit();

// getrlimit, setrlimit or prlimit64 of this process's RLIMIT_AS, or of another process.
bool asks_for_limit(const Registers& r, std::uint64_t r10);
// Makes it: `make` is the call with the registers as they are then.
long limit_call(ThreadArea& area, long (*make)(ThreadArea&));

// Whether the program may not have so many bytes more.
bool exceeds_address_limit(std::uint64_t bytes);

}  // namespace hodo::engine
