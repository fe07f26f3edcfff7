// One instruction of the program at its own address with its own registers. It is not in the trace.
#pragma once

#include <cstdint>

#include "thread_area.h"

namespace hodo::engine {

// What the engine does not know how to copy, or cannot read, at `ip`.
[[noreturn]] void run_native(ThreadArea& area, std::uint64_t ip);
// The same in the midst of the last block.
[[noreturn]] void run_in_block(ThreadArea& area, std::uint64_t ip);
// The same of a software interrupt that ends the last block, in front of `behind`.
[[noreturn]] void run_interrupt(ThreadArea& area, std::uint64_t ip, std::uint64_t behind);
// INT 0x80 as a system call that a signal may end, as natively. The trap flag would trap behind the
// instruction that follows it, since the kernel comes back with IRET; so it is made at an address
// of the engine's, and the trace has all that follows. `left_at`: as the trace has it, the end of
// the last block. False: it is none that comes back there, or the program steps. True: signals come
// first. Otherwise it does not return.
bool call_by_interrupt(ThreadArea& area, std::uint64_t ip, std::uint64_t left_at);
// An indirect branch or return (area.branch), already done but for its target, which is no address:
// the processor refuses the branch itself.
[[noreturn]] void refuse_branch(ThreadArea& area);

}  // namespace hodo::engine
