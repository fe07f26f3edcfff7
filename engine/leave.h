// How a program is let go: the reverse of attach.h. Once hodo_leaving is set, the recorder queues a
// SIGTRAP to each thread; one that has begun meanwhile, or is in a child that was forked, goes on
// until it is held, too. At the next place where a signal can be delivered, the thread gives back
// what it has, and stops. When all have, one of them gives the program its signals and its code
// back, and they go on in the program itself. The last one unmaps the engine.
//
// A thread in a system call that can be begun anew is not disturbed: engine_leave_call() says how
// it goes on, and the recorder gives it those registers.
#pragma once

#include <cstdint>

#include "kernel_signal.h"
#include "thread_area.h"

namespace hodo::engine {

// The program's registers into area.native_thread, where the recorder finds them.
void write_native_registers(ThreadArea& area);

bool is_leaving();
// It has no other meaning.
bool asks_to_leave(unsigned number, const KernelInfo& info);
// In the handler of `signal`, where it would be delivered. The registers are the program's, area.ip
// the next instruction, `mask` what the program blocks. `context` is that of the handler.
[[noreturn]] void leave_here(ThreadArea& area, const WaitingSignal& signal, std::uint64_t mask,
                             KernelContext& context);

extern "C" {
// Set by the recorder.
extern std::uint32_t hodo_leaving;
// leave_here() stops in front of this. From there it goes on to the program by rt_sigreturn.
void glue_parked();
// For a thread behind the system call in glue_syscall(): gives back what it has. Ends at
// glue_stopped, RAX pointing to a relay::NativeThread, without what ptrace knows better.
void engine_leave_call(ThreadArea* area);
// All threads have stopped. Ends at glue_stopped, RAX pointing to the program's action for SIGTRAP,
// which is left to the recorder: it needs the engine's for its breakpoints.
void engine_give_back();
// Numbers: how large a ThreadArea's block is, and where in it native_thread.
extern const char hodo_area_bytes[], hodo_area_native[];
// Unmaps all but the image. Ends in a system call that does not exist, in front of glue_unmapped.
void engine_unmap();
void glue_unmapped();
}

}  // namespace hodo::engine
