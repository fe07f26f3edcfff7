// Between code in the cache and the engine's C++ code. In the cache RSP and all registers but R10
// and R11 are the program's; these entries save them, change to the engine's stack, and go on at
// ThreadArea::next.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hodo::engine {

struct KernelContext;
struct ThreadArea;

// Of glue_syscall(): a signal came first, nothing was done.
inline constexpr long kInterrupted = static_cast<long>(std::uint64_t{1} << 63);

extern "C" {
// EAX: an Exit; RAX of the program is in spill[0].
void glue_exit();
// EAX: a Flush. R11 may have no room for more outcomes, or the packets none; flags are kept, and
// the unit is asked in any case.
void glue_flush();
// RAX: where to go on, behind the look at R11 at a fragment's head. R11 has 31 outcomes or more,
// and flags are free. Writes them as a long TNT packet; asks the unit where the packets have no
// room left.
void glue_full();
// RAX: a target that has no landing, or not the one that was jumped to. RAX and RCX of the program
// are in the spill slots.
void glue_miss();
// RCX: the CallSite of a return to RAX that has no landing yet. Spill slots as glue_miss.
void glue_return();
// EAX: a CodeCheck; RAX of the program is in spill[0]. Goes on behind the check, or has a new
// fragment made.
void glue_check();
// Where it reads what may be there no longer.
void glue_check_compare();
void glue_check_end();
void glue_check_begin();
void glue_check_changed();
// On the engine's stack, with a return address: EAX names a BlockSite, RAX is in spill[0]. Tells
// the unit of the block that runs next. The second keeps the status flags, too.
void glue_block();
void glue_block_keep();
// The same way, without EAX: the x87 unit says from here on where the program's last instruction of
// it stood, not the copy's.
void glue_x87();
// Where the process begins: RSP is the program's.
void engine_start();
// R10: the thread's area. Registers from there, then to ThreadArea::next.
void glue_resume();
// All of the above lies between these.
void glue_begin();
void glue_end();

// --- functions of the C++ code ---

// The system call that the program's registers say; signals that come before it has begun end it.
long glue_syscall(ThreadArea* area);
// In glue_syscall: the test for signals that wait, what follows the instruction, the way out.
void glue_syscall_check();
void glue_syscall_done();
void glue_clone_done();
void glue_exit_refused();
void glue_syscall_interrupted();
// The same for clone, fork and vfork, with all signals blocked. The child begins in
// engine_child(child).
long glue_clone(ThreadArea* area, ThreadArea* child);
// Ends this thread by the system call `number`; `used` becomes 0 when the stack is no longer.
[[noreturn]] void glue_exit_thread(int number, int status, bool* used);
// Goes on at ThreadArea::ip with all of the program's registers.
[[noreturn]] void glue_native(ThreadArea* area);
void glue_native_return();  // a place: its last instruction, which faults where `ip` is no address
// The system call by INT 0x80, and a breakpoint: where glue_native() goes on for an instruction of
// the program's.
void glue_interrupt();
void glue_interrupt_done();
// rt_sigreturn with this context.
[[noreturn]] void glue_restore_context(KernelContext* context);
// What handlers of the engine return to.
void glue_restorer();
// 1: copied; 0: some of it cannot be read or written.
int glue_copy(void* to, const void* from, std::size_t count);
void glue_copy_insn();
void glue_copy_failed();
}

// Where one of these lies, or something that the engine has made.
inline std::uint64_t address(void (*of)()) { return reinterpret_cast<std::uint64_t>(of); }
inline std::uint64_t address(const void* of) { return reinterpret_cast<std::uint64_t>(of); }

}  // namespace hodo::engine
