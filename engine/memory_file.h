// The program's own memory as a file: what is written to /proc/PID/mem needs no right to the page
// and raises no fault, so that translations of it would go on as they were (proc(5)).
#pragma once

#include <cstdint>

#include "thread_area.h"

namespace hodo::engine {

// After a call that may have opened a file.
void note_opened(const ThreadArea& area, long result);

// The program's memory that a call is about to be written to; `known` is false of all others.
struct MemoryWrite {
  bool known = false;
  std::uint64_t start = 0;
};
// Before the call that the registers say.
MemoryWrite memory_write(const ThreadArea& area);
// After it: so many bytes have been written.
void note_written(ThreadArea& area, const MemoryWrite& write, long result);

}  // namespace hodo::engine
