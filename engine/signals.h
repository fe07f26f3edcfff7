// Signals of the program. The kernel delivers them to the engine, on a stack of its own; it finds
// out where in the program the thread stands, writes what would have run so far into the trace,
// and delivers the signal as the kernel would have.
//
// Where a thread stands in the midst of what stands for one instruction, or in the engine's own
// code, the signal waits: single steps lead on to the next place where an instruction of the
// program begins.
#pragma once

#include "kernel_signal.h"

namespace hodo::engine {

// The handler of all signals that the engine takes (signal_actions.h).
extern "C" void engine_signal(int number, KernelInfo* info, KernelContext* context);

}  // namespace hodo::engine
