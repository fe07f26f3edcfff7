// EFLAGS.TF that the program sets itself: a SIGTRAP behind each of its instructions (SDM,
// "Single-Step Exception Condition"). While it is set, code in the cache runs under the processor's
// own; of the traps behind its instructions the program gets those at which one of its own begins.
#pragma once

#include <cstdint>
#include <optional>

#include "hodo/isa/encoding.h"
#include "kernel_signal.h"
#include "thread_area.h"

namespace hodo::engine {

// POPF, which may set TF. So may IRET, which never runs in the cache.
inline bool pops_flags(const isa::Encoding& e) {
  return e.form == isa::Form::legacy && e.map == 0 && e.opcode == 0x9d;
}
// The same of the program's instruction at `ip`, or IRET.
bool loads_flags(std::uint64_t ip);

inline bool is_stepping(const ThreadArea& area) { return area.trap_flag.state != TrapFlag::clear; }
// The saved ones, with TF as the program has it.
std::uint64_t program_flags(const ThreadArea& area);

// The program has got these flags, and goes on from here.
void set_trap_flag(ThreadArea& area, std::uint64_t flags);
// What it did last raises no trap: a system call, whose way back sets TF in front of the next one.
void step_anew(ThreadArea& area);
// Its POPF in the cache has cleared TF, which raises a last one.
void clear_behind_insn(ThreadArea& area);
// Has the saved registers go on in the cache under TF, if the program wants it.
void step_if_wanted(ThreadArea& area);

// Whether a thread that is stepping and goes on at ThreadArea::next has an instruction there: then
// it has begun that one. Else it has to be looked at there.
bool begins_at_next(ThreadArea& area);
// A thread that is stepping stands at `place` in the cache, where an instruction begins. If it has
// executed one: the address of the next, where the program is to get the trap.
std::optional<std::uint64_t> executed_one(ThreadArea& area, std::uint64_t place);
// The same of one that is on its way there.
std::optional<std::uint64_t> executed_before(ThreadArea& area, std::uint64_t place);

}  // namespace hodo::engine
