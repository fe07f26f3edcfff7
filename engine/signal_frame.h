// Between the kernel's signal frame and the program's registers as the engine keeps them.
#pragma once

#include <cstdint>

#include "kernel_signal.h"
#include "thread_area.h"

namespace hodo::engine {

// The registers of a thread that stands at an instruction of the program in the cache: R10 and R11
// are in ThreadArea::taken.
void save_registers(ThreadArea& area, const KernelContext& context);
// All registers are the program's.
void save_native_registers(ThreadArea& area, const KernelContext& context);
// Makes rt_sigreturn go on in the engine, with the registers that are saved there.
void return_to_engine(ThreadArea& area, KernelContext& context);
// Makes rt_sigreturn go on in the program's own code at area.ip.
void return_to_program(const ThreadArea& area, KernelContext& context);

// The same for one instruction there (ThreadArea::native), while nothing but faults is let through.
void step_in_program(ThreadArea& area, KernelContext& context);

// Writes the frame of `signal` onto the program's stack, or its alternate stack, as the kernel
// would: arch/x86/kernel/signal_64.c, x64_setup_rt_frame(). The registers become those with which
// the handler begins, and the floating-point state of `context` the initial one, its stack segment
// one that can be. False: there is no room for it.
bool push_frame(ThreadArea& area, const KernelAction& action, const WaitingSignal& signal,
                std::uint64_t mask, KernelContext& context);

}  // namespace hodo::engine
