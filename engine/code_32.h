// Code of 32 bits in a program of 64 (compatibility mode; SDM vol. 3, "IA-32e Mode"), to which a
// far branch or a signal frame leads. The engine does not translate it: the thread steps through it
// at its own address, outside of the trace, until it is back.
#pragma once

#include "kernel_signal.h"
#include "thread_area.h"

namespace hodo::engine {

inline bool is_code_32(const KernelContext& context) { return context.cs != kUserCode; }

// The thread (ThreadArea::native) has come to the next instruction there, which it is to run. The
// recorder is told once. A new process or thread would begin with the engine's memory and none of
// its care: such calls fail with ENOSYS.
void step_code_32(ThreadArea& area, KernelContext& context);

}  // namespace hodo::engine
