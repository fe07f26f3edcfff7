// The hub of hodoscope: every capture source ends in batches of Branch and every use begins with
// them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace hodo {

enum class BranchKind : std::uint8_t {
  cond,
  jmp,
  ijmp,
  call,
  icall,
  ret,
  syscall,
  sysret,
  int_,
  iret,
  irq,
  exc,
  abort,
  vmentry,
  vmexit,
  unknown,  // a branch that was recorded (BTS, LBR) and whose code is not known
  begin,    // tracing starts at `to` (PGE, start of a stream); `from` is absent
  end,      // tracing stops after `from`, by an event that is no instruction (async PGD, TraceStop)
  lost,     // a gap: data lost or damaged; `from` = last known IP, `to` = where decoding goes on
};
inline constexpr int kBranchKinds = static_cast<int>(BranchKind::lost) + 1;

// The name in CSV, JSON and filters: "cond", "jmp", ..., "int", ..., "lost".
std::string_view name(BranchKind kind);

enum BranchFlags : std::uint8_t {
  kNotTaken = 1 << 0,  // a conditional branch that fell through
  kAsync = 1 << 1,     // not caused by the instruction at `from` (interrupt, exception, signal)
  // Tracing stopped with this branch: `to` is absent (0) unless the filter gave it.
  kTraceEnd = 1 << 2,
  kInTx = 1 << 3,          // inside a TSX transaction
  kMispredicted = 1 << 4,  // LBR and BTS only
  kFar = 1 << 5,           // a far jump, call or return
  // Begin or lost whose `to` is a synchronisation point (PSB, the oldest entry of a branch stack,
  // the first BTS record behind a gap), where the path is picked up without a branch having gone
  // there: nothing joins it to the branches before.
  kResync = 1 << 6,
};

// One executed branch. A syscall with user-only tracing is kind syscall, kTraceEnd, to = 0,
// followed by a begin. 0 stands for an absent address, as in perf.
struct Branch {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t time = 0;  // trace clock (TSC) units; 0 = unknown; never decreases within a thread
  // Instructions executed since the previous Branch up to and including this.
  std::uint32_t insns = 0;
  BranchKind kind = BranchKind::lost;
  std::uint8_t flags = 0;
  std::uint16_t cycles = 0;  // core cycles since the branch before, as LBR counts them; 0: unknown
};
static_assert(sizeof(Branch) == 32);

}  // namespace hodo
