// The program's limits of addresses (RLIMIT_AS) and of data (RLIMIT_DATA). The kernel would count
// the engine's memory against them: so the limits that the kernel has are higher than those that
// the program has set, by so much that they never hold, and the engine refuses in its place what
// the program's own mappings would exceed. Processes that are forked and programs that are executed
// have them from the kernel. Not counted are stacks that grow, System V shared memory, and what
// mprotect makes data.
#pragma once

#include <cstdint>

#include "thread_area.h"

namespace hodo::engine {

// Of a process that has got some from outside; nothing where it may not raise them.
void raise_memory_limits();
// For who goes on without the engine.
void give_back_memory_limits();

// getrlimit, setrlimit or prlimit64 of such a limit, of this process or, to read it, of another.
bool asks_for_limit(const Registers& r, std::uint64_t r10);
// Makes it: `make` is the call with the registers as they are then.
long limit_call(ThreadArea& area, long (*make)(ThreadArea&));

// What memory is to the kernel that counts it.
enum class Counts : std::uint8_t {
  addresses,  // only that
  data,       // private, and can be written to
  heap,       // data, as brk() makes it
};
// Whether the program may not have so many bytes more.
bool exceeds_memory_limits(std::uint64_t bytes, Counts as);

}  // namespace hodo::engine
