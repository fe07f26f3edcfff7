// What the program wants done about signals, and what the kernel is told instead; and which are
// blocked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel_signal.h"
#include "thread_area.h"

namespace hodo::engine {

inline constexpr std::size_t kSetBytes = 8;  // of the kernel's sets of signals

inline bool is_fault(unsigned number) { return (signal_bit(number) & kFaults) != 0; }
// Of one of these, whether an instruction raised it. The kernel also sends some with a code like
// that, whatever the thread is doing: where a counter of the program's has come to its end
// (perf_event_attr::sigtrap), and where memory has failed (prctl(2), PR_MCE_KILL).
inline bool is_raised_by_insn(unsigned number, std::int32_t code) {
  constexpr std::int32_t kCounted = 6, kMemoryFailed = 5;  // TRAP_PERF, BUS_MCEERR_AO
  if (number == kTrap && code == kCounted) return false;
  if (number == kBus && code == kMemoryFailed) return false;
  return is_fault(number) && code > 0;
}
// Does the default action end the process?
bool ends_by_default(unsigned number);
// And this process, if somebody sends the signal? Not the first one of a namespace of processes
// (SIGNAL_UNKILLABLE of the kernel): it gets none that it has no handler for, but by its own
// faults.
bool is_ended_by(unsigned number);
// And may it write a core file then?
bool writes_core(unsigned number);

// rt_sigaction of the kernel's: null is left out.
long kernel_action(unsigned number, const KernelAction* to, KernelAction* old);
// Asks the kernel for the engine where the signal can change what the program does, or end it.
long install_action(unsigned number, const KernelAction& wanted);
// What the program wants done about a signal that is being delivered; SA_RESETHAND has its effect.
KernelAction take_action(ThreadArea& area, unsigned number);

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

}  // namespace hodo::engine
