// What one thread of the program has of the engine. In the cache R10 holds its address and R11 the
// pending outcomes: of all registers programs use these two the least. FS and GS stay the
// program's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hodo/relay/engine_start.h"
#include "hodo/relay/protocol.h"
#include "hodo/unit/block.h"
#include "hodo/unit/inline_pt.h"
#include "kernel_signal.h"
#include "output.h"

namespace hodo::engine {

// The program's registers while C++ code of the engine runs, in the order in which glue.S keeps
// them. R10 and R11 are ThreadArea::taken.
struct Registers {
  std::uint64_t rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi;
  std::uint64_t r8, r9, r12, r13, r14, r15;
  std::uint64_t flags;
};

// A call that has not returned yet, for the compression of returns (SDM, "RET Compression"): where
// it is to return and where the code for that lies. Below 2 GB, so that 32 bits name it.
struct CallSite {
  std::uint64_t landing = 0;  // looks itself whether the return leads to this address
  std::uint64_t return_address = 0;
};

// EFLAGS.TF as the program has it, by which it is told of each of its own instructions.
struct TrapFlag {
  enum State : std::uint32_t {
    clear,
    set,    // it goes on, and is at no instruction yet
    begun,  // from `place` on an instruction runs
    last    // an instruction has cleared it, and the trap behind that one is still to come
  };
  State state = clear;
  std::uint64_t ip = 0, place = 0;  // of the instruction, in the program and in the cache
};

// What the program asked for with sigaction; shared as CLONE_SIGHAND says.
struct SignalActions {
  KernelAction of[kSignals + 1] = {};
};

struct ClockState {
  std::uint64_t ticks = 0, ns = 0;  // when the kernel was asked, and what it said
  std::uint64_t last = 0;
};

struct ThreadArea {
  static constexpr unsigned kCalls = 64;
  // One block of memory, aligned to its size: the area, the stack of signal handlers and that of
  // the other C++ code. A stack pointer in it tells whose it is.
  static constexpr std::size_t kBlock = 512 << 10;
  static constexpr std::size_t kHandlerStack = 64 << 10;  // begins here
  static constexpr std::size_t kHandlerStackBytes = 128 << 10;

  // --- within 127 bytes of R10: short instructions
  std::uint64_t spill[3] = {};    // RAX, RCX, RDX of the program, in sequences that need registers
  std::uint64_t scratch[2] = {};  // the registers that stand for R10 and R11 in one instruction
  std::uint64_t taken[2] = {};    // R10 and R11 of the program
  std::uint64_t flags = 0;        // AH and AL of LAHF and SETO
  std::uint64_t next = 0;         // where in the cache to go on
  std::uint32_t calls_top = 0;    // byte offset in this of the newest of `calls`
  std::uint32_t branch = 0;       // address of the address of the one whose target is looked up
  unit::PtUnit unit;              // what InlinePt names is there
  // --- further away
  std::uint64_t address_scratch = 0;  // what address_register() held
  // Addresses of CallSites. Aligned, so that the lowest byte of `calls_top` alone goes around.
  alignas(256) std::uint32_t calls[kCalls] = {};
  std::uint64_t engine_stack = 0;  // top of the stack of the engine's C++ code
  std::uint64_t outcomes = 0;      // R11 of the processor while C++ code runs
  Registers registers = {};
  std::uint64_t stack = 0;       // the stack pointer with which a thread began
  std::uint64_t ip = 0;          // of the program, where `registers` leave R10 and R11 to it
  std::uint32_t waits = 0;       // signals in `waiting`
  std::uint32_t native = 0;      // the program runs one instruction at its own address
  std::uint64_t own_target = 0;  // which would be the engine's: it is refused
  std::uint64_t interrupt = 0;  // or not at its own: the INT 0x80 that glue_interrupt() is made for
  TrapFlag trap_flag;           // trap_flag.h

  // Signals that came where the program's state is not to be had; the kernel holds back all but
  // the synchronous ones until they have been delivered. Newest last.
  static constexpr unsigned kWaiting = 8;
  WaitingSignal waiting[kWaiting] = {};
  std::uint64_t held_mask = 0;       // while signals wait: what the kernel is to block behind them
  std::uint64_t program_mask = 0;    // as the kernel has it while the engine does not block more
  std::uint64_t blocked_faults = 0;  // synchronous signals that the program thinks it has blocked
  struct HeldFault {
    unsigned number = 0;
    KernelInfo info = {};
  };
  HeldFault held_faults[6] = {};  // held_faults.h: one of each of kFaults; behind a 0 there is none
  std::uint64_t native_mask = 0;  // the kernel's, while `native`
  KernelStack alternate = {};     // sigaltstack() of the program
  SignalActions* actions = nullptr;
  // What a system call of the thread is replacing without the lock: begin_replacing().
  std::uint64_t replaced_start = 0, replaced_bytes = 0;
  relay::UserDispatch dispatch;  // dispatch.h
  Output output;
  ClockState clock = {};
  std::int32_t pid = 0, tid = 0;
  std::uint64_t calls_forgotten = 0;  // PtUnit's, when `calls` was last right
  std::uint32_t reports_seen = 0;     // code_report.h
  // The edition of the cache (edition.h) that the thread may run in; 0: it does not run in the
  // cache. That which `calls` are of. And its tables, cache.h.
  std::uint32_t stands_in = 0;
  std::uint32_t calls_edition = 0;
  struct IndirectTarget* indirect_targets = nullptr;
  std::uint64_t* first_landings = nullptr;
  // Tracing by blocks (block_calls.h): what is called in front of each, and on which unit.
  using OnBlock = void (*)(ThreadArea*, const struct BlockSite*);
  OnBlock on_block = nullptr;
  void* block_unit = nullptr;
  unit::Block last_block;      // a copy, where the thread has left the edition that it was made in
  bool in_block = false;       // ThreadArea::ip is in the midst of the last block, not behind it
  bool unaligned = false;      // EFLAGS.AC is clear for the engine's next instruction
  bool used = false;           // by a thread that runs
  bool strict = false;         // it may read, write, end and return from handlers (seccomp)
  bool stopped = false;        // its process ends, and it goes no further
  bool executes = false;       // is in execve
  bool fault_dropped = false;  // held_faults.h: one that the program ignores has come
  bool waited_for = false;     // the parent stands still in vfork and gives the memory back
  bool leaves = false;         // the recorder holds it by ptrace and has asked it to leave
  // Of a child that begins: it has a copy of its parent's memory, or lost its signal handlers; the
  // signals it is to block.
  relay::Start start = relay::Start::image;
  std::int32_t parent_pid = 0, parent_tid = 0;
  // To the recorder, until the child has its channel or who made it has closed it; other threads'
  // children do not keep it. The second is the child's own, which may have a copy of it.
  long connection = -1, first_connection = -1;
  long exec_connection = -1;  // its own, while it asks to execute a program; nor do they keep this
  bool memory_is_new = false, files_are_new = false;
  bool handlers_are_gone = false;
  std::uint64_t first_mask = 0;
  // Of a thread that ran before it was recorded: rseq, restart and whether it is recorded; while it
  // is let go, all of it.
  relay::NativeThread native_thread = {};

  std::uint64_t handler_stack() const {
    return reinterpret_cast<std::uint64_t>(this) + kHandlerStack;
  }
};
static_assert(sizeof(ThreadArea::calls) == 256);
static_assert(sizeof(ThreadArea) <= ThreadArea::kHandlerStack);

// Decoders begin with an empty stack of calls at a PSB and behind a system call: so do we, if the
// unit has written one since.
void forget_calls(ThreadArea& area);

}  // namespace hodo::engine
