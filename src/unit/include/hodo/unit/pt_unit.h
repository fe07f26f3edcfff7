// The Intel PT part of the software trace unit: executed blocks in, the packets that a processor
// would write out (Intel SDM vol. 3, "Intel Processor Trace"). It is programmed as the hardware is,
// by IA32_RTIT_CTL and an output area in memory, and does not know who programs it.
//
// Hot path: PtUnit::enter, once per executed block, a few nanoseconds. Everything else is in
// pt_unit.cc. What a process that is killed leaves behind is in PtRemains, which may lie in memory
// that others can write to: the unit never reads it.
//
// The clock (documented for users in docs/trace-unit.md): TSC counts nanoseconds of
// CLOCK_MONOTONIC, the crystal clock (CTC) is TSC / 128, and CYC counts instructions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "hodo/hw/intel_pt.h"
#include "hodo/unit/block.h"
#include "hodo/unit/digest.h"

namespace hodo::unit {

inline constexpr std::uint32_t kTscPerCtc = 128;  // CPUID.15H: EBX / EAX

// What a reader needs to know of a unit that has stopped in its tracks, brought up to date with
// each packet and outcome.
struct PtRemains {
  std::uint64_t digest = 0;    // PtUnit::digest(): tells where the packets end, too
  std::uint64_t outcomes = 0;  // those that are in no packet yet; see pending_packets()
};
// Of a unit that has not started yet.
PtRemains no_remains(std::uint64_t key);
// Of one that leaves no trace of what it does behind the packets of this digest: nothing, or
// nobody knows what (`lost`).
PtRemains remains_behind(std::uint64_t digest, bool lost);

// Where packets go: a ring of `size` bytes (a power of two) that is mapped twice in a row, so that
// a packet never has to be split. The unit appends; whoever owns the ring frees.
struct PtOutput {
  std::uint8_t* base = nullptr;
  std::uint64_t size = 0;
  // From one service point to the next, at most: where time is told.
  std::uint64_t service_bytes = 512;
  // Called at every service point with the number of bytes written so far. Returns how many bytes
  // the ring can take now; it may wait to make that more.
  std::uint64_t (*reserve)(void* owner, std::uint64_t written) = nullptr;
  void* owner = nullptr;
  // Asked when block b is no successor of the last one, or is flagged as a handler: was it reached
  // by an event, a signal or an interrupt? If so, gives the interrupted IP and whether the
  // instruction there raised it. May be null.
  bool (*interrupted)(void* owner, const Block& b, std::uint64_t& ip, bool& faulted) = nullptr;
  // With RTIT_CTL.OS: the CR3 that is in force. Null: no PIP packets are written.
  std::uint64_t (*cr3)(void* owner) = nullptr;
  PtRemains* remains = nullptr;  // may be null
  std::uint64_t key = 0;         // what the digest begins with
};

// Packets that a reader of PtRemains has to add.
struct PtEnd {
  std::array<std::uint8_t, 8> bytes{};
  unsigned size = 0;
  bool lost = false;  // packets are missing there
};
// The outcomes that were pending, as packets; nullopt: nothing that a unit leaves there beside this
// digest.
std::optional<PtEnd> pending_packets(std::uint64_t outcomes, std::uint64_t digest);

class PtUnit {
 public:
  // Bytes that one service point or one event may write, at most; kept free behind the limit.
  static constexpr std::uint64_t kSlack = 256;

  // A unit that is off: blocks may be entered, nothing is written.
  PtUnit();

  // Programs the unit: `rtit_ctl` is IA32_RTIT_CTL (TSCEn, MTCEn, MTCFreq, CYCEn, CycThresh,
  // PSBFreq, DisRETC, BranchEn and OS are honoured), `mode` what MODE.Exec says until a block of
  // another width is entered, `clock` reads the TSC. With OS an event's handler is traced like the
  // code that it interrupts; without it tracing stops and begins again there.
  // Tracing starts with a PSB+ and is disabled (PacketEn = 0) until the first block.
  void start(std::uint64_t rtit_ctl, isa::Mode mode, const PtOutput& output,
             std::uint64_t (*clock)());

  // Execution reaches block b, which must stay valid until the next event. The unit works out what
  // the block before it did.
  template <bool kCountInsns>
  void enter(const Block* b);
  // The same for a block that the translator made of a single instruction in order to step over it
  // (QEMU does for atomics it cannot inline and for stores into the running block). If it lies
  // inside the last block, that one was cut short there and its branch was not executed.
  void enter_stepped(const Block* b);

  // Execution reaches block b, which the address filters exclude.
  void leave_filter(const Block* b);

  // The block last entered ended in an instruction that left the traced context (a system call with
  // user-only tracing): TIP.PGD. The next enter() makes a TIP.PGE.
  void leave_context();

  // An interrupt, fault or signal took control at `ip`, the next instruction that would have run:
  // settles the last block's branch if it was executed (`faulted` says that the instruction at `ip`
  // itself raised the event), then FUP and TIP.PGD. The next enter() makes a TIP.PGE.
  void interrupt(std::uint64_t ip, bool faulted);

  // Code changed under the unit's feet and is about to run at `ip`: makes the decoder's time pass
  // the change before it walks the new code, the way a page fault on the new page would.
  void code_changed();

  // TraceStop: the recorder wants no more; nothing is written from here on.
  void stop();

  // --- Without blocks: for an engine that works out branches by itself and writes TNT and TIP
  // packets inline (inline_pt.h). `outcomes` are those it holds, under a stop bit, at most 47.
  // After each of these calls it holds none, and the return addresses it keeps for RET compression
  // are forgotten wherever `calls_forgotten()` has changed. The digest knows nothing of packets
  // that were written inline.

  // Execution enters the traced context at `ip`: TIP.PGE.
  void enter_at(std::uint64_t ip);
  // A system call leaves it: TIP.PGD.
  void leave_after(std::uint64_t outcomes);
  // A signal or fault takes control at `ip`, the next instruction: FUP, TIP.PGD.
  void interrupt_after(std::uint64_t outcomes, std::uint64_t ip);
  // An indirect branch or a return leads to `ip`: TIP.
  void branch_after(std::uint64_t outcomes, std::uint64_t ip);
  // Writes the time: what comes next is not older. Asks for no room.
  void pass_time(std::uint64_t outcomes);
  // The cursor has reached the limit: somebody has to ask, before another kSlack bytes are written.
  bool is_due() const { return state_ == State::enabled && cursor_ >= limit_; }
  // Writes the outcomes; if the cursor has reached the limit, also timing, PSB, and gets room.
  // Execution stands at `ip`. While packets are being lost, takes back what was written inline.
  void flush_at(std::uint64_t outcomes, std::uint64_t ip);
  std::uint64_t calls_forgotten() const { return calls_forgotten_; }

  bool counts_cycles() const { return (rtit_ctl_ & hw::rtit_ctl::kCycEn) != 0; }
  bool enabled() const { return state_ == State::enabled; }
  // Packets have been lost, and none were written since.
  bool losing() const { return state_ == State::overflow; }
  // The block that is executing; null while tracing is disabled.
  const Block* current() const;
  // Which is not null: it lies here from now on.
  void move_current(const Block* to);
  // Bytes written to the output since start().
  std::uint64_t written() const {
    return written_at_mark_ + static_cast<std::uint64_t>(cursor_ - mark_);
  }
  // Behind the last of them in the output.
  const std::uint8_t* end() const { return cursor_; }
  // Of all of them.
  std::uint64_t digest() const { return digest_.value(); }
  // Gaps in the stream, each an OVF packet: times that the output was full, and jumps that no
  // branch, signal or fault explained.
  std::uint64_t overflows() const { return overflows_; }
  std::uint64_t unexplained() const { return unexplained_; }

 private:
  friend struct InlinePt;
  enum class State : std::uint8_t { off, disabled, enabled, overflow };
  friend std::optional<PtEnd> pending_packets(std::uint64_t outcomes, std::uint64_t digest);
  friend PtRemains remains_behind(std::uint64_t digest, bool lost);
  static constexpr unsigned kTntLong = 47;
  static constexpr unsigned kTntGap = 63 - kTntLong;
  static constexpr std::uint64_t kNoTnt = 1ULL << kTntGap;
  // In PtRemains, XOR the digest: packets are missing at the end.
  static constexpr std::uint64_t kEndLost = 1;
  static PtRemains nobodys_;  // of units whose owner has no use for them
  static constexpr std::uint64_t kStackMask = 63;

  // What is stored is there before the next store is: a killed process leaves whole packets, and
  // either the digest of them or the one before.
  [[gnu::always_inline]] static void store(std::uint64_t& to, std::uint64_t value) {
    __atomic_store_n(&to, value, __ATOMIC_RELEASE);
  }
  void set_outcomes(std::uint64_t outcomes) {
    tnt_ = outcomes;
    store(remains_->outcomes, outcomes);
  }
  void push(const Block* call) { stack_[++stack_top_ & kStackMask] = call->end(); }
  void follow(const Block* from, std::uint64_t to, std::uint64_t taken) {
    if (from->flags & Block::kPushes) push(from);
    const unsigned n = from->tnt;
    const std::uint64_t outcomes = tnt_ << n | (taken & n);
    set_outcomes(outcomes);
    if (static_cast<std::int64_t>(outcomes) < 0) [[unlikely]]
      flush_full_tnt(to);
  }
  void enter_unpredicted(const Block* from, const Block* b);
  void enter_by_event(const Block* from, const Block* b);
  bool signalled(const Block& from, const Block& b, std::uint64_t& ip, bool& faulted) const;
  void resolve(const Block* from, std::uint64_t to);
  void resolve_return(std::uint64_t to);
  void mark_unexplained(std::uint64_t to);
  void take_tip(std::uint64_t to);
  void take_event(std::uint64_t ip, bool faulted, const Block* handler);
  bool traces_kernel() const { return (rtit_ctl_ & hw::rtit_ctl::kOs) != 0; }
  void enable(std::uint64_t ip);
  void disable();
  void flush_full_tnt(std::uint64_t next_ip);
  void flush_tnt();
  void service(std::uint64_t ip);
  void grant(std::uint64_t room);
  void lose();
  void recover(std::uint64_t ip);
  void clear_stack();
  const Block* settle_marker();

  void put_bytes(std::uint64_t value, unsigned bytes);
  void leave_remains();
  void put_ip(std::uint8_t opcode, std::uint64_t ip);
  void put_psb(std::uint64_t ip);
  void put_mode_if_due();
  void put_pip_if_due();
  void put_pip();
  void put_tsc();
  void put_mtc_if_due();
  void put_cyc() {
    if (counts_cycles()) [[unlikely]]
      put_cycles();
  }
  void put_cycles();

  // First, for code that names them often (InlinePt).
  std::uint8_t* cursor_ = nullptr;
  std::uint8_t* limit_ = nullptr;  // service() is due when the cursor reaches it
  std::uint64_t last_high_ = 0;    // high_part() of the last IP: the others are in every packet
  const Block* last_ = nullptr;
  // Pending outcomes, the newest in bit 0, and a stop bit kTntGap places above the oldest: when as
  // many as a long packet holds are there, it has become the sign. The gap has as many bits of the
  // last packet's digest: who finds the outcomes of a killed process can tell whether they are in
  // that packet.
  std::uint64_t tnt_ = kNoTnt;
  PtRemains* remains_ = &nobodys_;
  StreamDigest digest_;
  std::uint64_t stack_top_ = 0;
  std::uint64_t insns_ = 0;                            // in all blocks entered so far
  std::array<std::uint64_t, kStackMask + 1> stack_{};  // RET compression; 0 = empty slot

  // --- cold ---
  const Block* pending_ = nullptr;  // the last block, while last_ is the code-change marker
  std::uint8_t* mark_ = nullptr;    // where the cursor was when written_at_mark_ bytes were out
  std::uint64_t written_at_mark_ = 0;
  std::uint64_t serviced_ip_ = 0;  // where execution stands while service() asks for room
  std::uint64_t psb_due_ = 0;      // value of written() at which the next PSB is due
  std::uint64_t last_mtc_ = 0;     // CTC >> MTCFreq, as last sent
  std::uint64_t cyc_sent_ = 0;
  std::uint64_t overflows_ = 0;
  std::uint64_t unexplained_ = 0;
  std::uint64_t calls_forgotten_ = 0;
  std::uint64_t rtit_ctl_ = 0;
  std::uint64_t cr3_ = 0;  // of the last PIP
  PtOutput output_;
  std::uint64_t (*clock_)() = nullptr;
  isa::Mode mode_ = isa::Mode::bits64;
  bool mode_due_ = false;  // a MODE.Exec is missing before the next TIP or TIP.PGE
  State state_ = State::off;
};

template <bool kCountInsns>
[[gnu::always_inline]] inline void PtUnit::enter(const Block* b) {
  const Block* from = last_;
  last_ = b;
  const std::uint64_t ip = b->start;
  if constexpr (kCountInsns) insns_ += b->insns;
  // Without the two empty asm statements the compiler makes a jump of each comparison, and those
  // jumps are as hard to predict as the program's own branches.
  std::uint64_t taken = ip == from->taken ? 1 : 0;
  asm("" : "+r"(taken));
  std::uint64_t follows = ip == from->other ? 1 : 0;
  asm("" : "+r"(follows));
  if ((taken | follows) != 0) [[likely]] {
    follow(from, ip, taken);
  } else {
    enter_unpredicted(from, b);
  }
}

}  // namespace hodo::unit
