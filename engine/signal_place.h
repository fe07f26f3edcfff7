// Where in the program a thread stands that a signal has stopped, and its registers there.
#pragma once

#include <cstdint>

#include "insn_map.h"
#include "kernel_signal.h"
#include "thread_area.h"

namespace hodo::engine {

enum class Place { program, cache, sequence, engine };
Place place_of(std::uint64_t ip);

// As those without "locked", which want the lock held.
bool find_insn_locked(std::uint64_t at, InsnPlace& place);
std::uint64_t last_fragment_locked(std::uint64_t at);
unsigned readable_bytes_locked(std::uint64_t ip);

// At the beginning of an instruction's copy the registers are the program's. False: it stands
// elsewhere.
bool save_exact(ThreadArea& area, const KernelContext& context);
// On the way from the engine to an instruction's copy they are in the area still.
bool save_resuming(ThreadArea& area, const KernelContext& context);
// A copy has raised a fault, perhaps in the midst of what was put around it: as the registers were
// before.
bool save_faulted(ThreadArea& area, const KernelContext& context);
// An empty place in the tables of targets says that address 0 has its landing at 0: a branch there
// has got this far. RAX has the target.
void save_at_nothing(ThreadArea& area, const KernelContext& context);

}  // namespace hodo::engine
