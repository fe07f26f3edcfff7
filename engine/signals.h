// Signals of the program. The kernel delivers them to the engine, on a stack of its own; it finds
// out where in the program the thread stands, writes what would have run so far into the trace,
// and delivers the signal as the kernel would have.
//
// Where a thread stands in the midst of what stands for one instruction, or in the engine's own
// code, the signal waits: single steps lead on to the next place where an instruction of the
// program begins.
#pragma once

#include <cstdint>

#include "kernel_signal.h"
#include "thread_area.h"

namespace hodo::engine {

// Of a program that begins: what it inherited.
void initialise_signals(ThreadArea& area);
// Installs what area.actions says, all of it.
void install_actions(const ThreadArea& area);
// What the kernel has, into area.actions; and back to what that says, without the engine: of all
// but SIGTRAP, which is given back.
void read_actions(ThreadArea& area);
const KernelAction* restore_actions(const SignalActions& actions);
// Handlers become the default action, as exec and CLONE_CLEAR_SIGHAND do.
void reset_handlers(SignalActions& actions);
// Of a thread that begins, on itself.
void begin_signals(ThreadArea& area);

// Blocks all signals but those of faults; the mask before. set_mask() sets one of the kernel.
std::uint64_t block_signals();
void set_mask(std::uint64_t mask);

// System calls of the program, by its registers; the kernel's answer.
long sigaction_call(ThreadArea& area);
long sigprocmask_call(ThreadArea& area);
long sigaltstack_call(ThreadArea& area);
long sigreturn_call(ThreadArea& area);  // returns only if a signal came first

// One instruction of the program at its own address with its own registers, at `ip`: what the
// engine does not know how to copy, or cannot read. It is not in the trace.
[[noreturn]] void run_native(ThreadArea& area, std::uint64_t ip);
// The same of a software interrupt that ends the last block, in front of `behind`.
[[noreturn]] void run_interrupt(ThreadArea& area, std::uint64_t ip, std::uint64_t behind);
// An indirect branch or return (area.branch), already done but for its target, which is no address:
// the processor refuses the branch itself.
[[noreturn]] void refuse_branch(ThreadArea& area);

}  // namespace hodo::engine
