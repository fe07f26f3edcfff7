// The flow decoder: Intel PT packets and the code that ran -> batches of Branch.
//
// Sources: Intel SDM vol. 3, "Intel Processor Trace" (packet definitions, "Reconstructing software
// flow"). Where it leaves room, the decoder does what both perf's intel-pt-decoder.c and libipt do.
//
// Taken branches come in the order and with the addresses that `perf script --itrace=b -F ip,addr`
// prints, a `begin` with `from` 0. perf prints nothing for branches that are kNotTaken or kResync,
// nor for a `lost` without `to`; it prints a `lost` with `to` (an overflow that a FUP resolves) as
// 0 -> to.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/flow/branch.h"
#include "hodo/flow/pieces.h"
#include "hodo/image/code.h"
#include "hodo/isa/insn.h"
#include "hodo/pt/errata.h"
#include "hodo/pt/packet.h"

namespace hodo::flow {

// Addresses lo to hi, both included, as IA32_RTIT_ADDRn_A and _B have them.
struct IpRange {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
};

struct Config {
  isa::Mode initial_mode = isa::Mode::bits64;  // until the first MODE.Exec
  std::vector<IpRange> filter;                 // IP filters while recording; empty: none or unknown

  // How the timing packets count (CPUID leaves 15H and 16H, MSR_PLATFORM_INFO). With a zero the
  // packets that need it do not move the time.
  std::uint8_t mtc_freq = 0;            // IA32_RTIT_CTL.MTCFreq: an MTC every 2^N crystal clocks
  std::uint32_t tsc_ctc_numerator = 0;  // TSC ticks per crystal clock: CPUID.15H:EBX / EAX
  std::uint32_t tsc_ctc_denominator = 0;
  std::uint32_t max_nonturbo_ratio = 0;  // TSC ticks per bus clock: CYC counts / CBR * this

  pt::Errata errata;  // of the processor that wrote the trace

  // Threads that decode, 0: as many as there are processors that this process may run on. What a
  // sink is told, and that the calling thread tells it, does not depend on it (but for the Stats
  // after on_progress() ended the decoding). Each takes this many bytes of trace at a time.
  unsigned threads = 1;
  std::size_t thread_bytes = 256 << 10;
  // So many bytes are followed by what is remembered of paths to learn them, and as many to see
  // whether it pays in this trace. Where jumps are left out so many are followed by steps before
  // any are learned.
  std::size_t trial_bytes = 64 << 10;

  bool want_not_taken = false;     // emit conditional branches that fell through
  bool want_instructions = false;  // call on_instructions: slow, for comparison with other decoders
};

// Why a part of the path is missing.
enum class LossCause : std::uint8_t {
  head_cut,    // the stream does not begin at a PSB: nothing before the first can be decoded
  overflow,    // OVF: the processor had to drop packets
  bad_packet,  // bytes that are no packet, or a packet where none of its kind may be
  truncated,   // the stream ends inside a packet
  no_code,     // the path leads to an address where nothing is mapped
  bad_code,    // ... where the bytes are no instruction
  impossible_outcome,  // the next packet does not fit the next branch of the code
  endless_loop,        // the code loops without a branch that would need a packet
  filter_mismatch,     // as no_code to endless_loop, at an address outside the configured filter
  bad_time,            // a PSB+ has an earlier time than what came before it: the one is damaged
  recorder_lost,       // the recorder says that bytes are missing between two pieces
  lost_call,           // a compressed return: its call lies in a part of the path that was lost
  altered,             // bytes that are not those that were recorded, left out between two pieces
};
inline constexpr int kLossCauses = static_cast<int>(LossCause::altered) + 1;
std::string_view name(LossCause cause);  // "head-cut", "overflow", ...

// A gap in the path. A Branch of kind lost follows it in the branch stream (not for head_cut, nor
// for an overflow that is all there is).
struct Loss {
  LossCause cause = LossCause::bad_packet;
  std::uint64_t offset = 0;   // in the trace: of the packet that could not be followed
  std::uint64_t skipped = 0;  // bytes from there that were not decoded (0: decoding went on)
  std::uint64_t last_ip = 0;  // last address known to be right; 0: none
  std::uint64_t ip = 0;       // where the walk through the code gave up; 0: not in the code
  std::uint64_t time = 0;
  std::string reason;  // what happened and the likely cause: one line, no trailing period
};

enum class EventKind : std::uint8_t {
  paging,     // PIP: payload CR3, extra NR
  vmcs,       // payload: the VMCS pointer
  exec_mode,  // payload: MODE.Exec bits; only when they change
  tsx,        // payload: MODE.TSX bits
  ptwrite,    // payload: the operand, extra: its size in bytes
  exstop,
  mwait,
  pwre,
  pwrx,
  block_begin,   // BBP: payload type
  block_item,    // BIP: payload value, extra id
  block_end,     // BEP
  cbr,           // payload: core:bus ratio; only when it changes
  maintenance,   // MNT
  control_flow,  // CFE: payload type, extra vector
  event_data,    // EVD: payload value, extra type
  trigger,       // TRIG
  trace_stop,
};
inline constexpr int kEventKinds = static_cast<int>(EventKind::trace_stop) + 1;
std::string_view name(EventKind kind);  // "paging", "vmcs", ...

// Something the trace tells that is no branch. It lies between the branches delivered before and
// after.
struct Event {
  EventKind kind = EventKind::paging;
  std::uint64_t offset = 0;  // of its packet in the trace
  std::uint64_t ip = 0;      // the instruction it belongs to; 0: unknown or tracing was off
  std::uint64_t time = 0;
  std::uint64_t payload = 0;
  std::uint32_t extra = 0;
};

struct Stats {
  std::uint64_t bytes = 0;          // of trace given
  std::uint64_t skipped_bytes = 0;  // of them, not decoded
  std::uint64_t instructions = 0;
  std::uint64_t not_taken = 0;  // conditional branches that fell through
  // Branches that were recorded although the processor had only foreseen them (AMD's LbrExtV2):
  // they belong to no path and are left out.
  std::uint64_t wrong_path = 0;
  std::uint64_t tnt_bits = 0;
  std::array<std::uint64_t, kBranchKinds> branches{};  // taken
  std::array<std::uint64_t, pt::kPacketTypes> packets{};
  std::array<std::uint64_t, pt::kPacketTypes> packet_bytes{};
  std::array<std::uint64_t, kEventKinds> events{};
  std::array<std::uint64_t, kLossCauses> losses{};

  std::uint64_t total_losses() const;
  Stats& operator+=(const Stats& other);
};

// Hears what a trace tells besides its path. Calls come in the path's order, from the thread that
// asked for decoding; references are valid during the call.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void on_loss(const Loss& loss) = 0;
  virtual void on_event(const Event&) {}
  // Decoding has come to a PSB at this offset of the stream. False: the caller has had enough, and
  // the rest of the piece is not decoded.
  virtual bool on_progress(std::uint64_t) { return true; }
};

// A path that the decoder remembers, taken again: whenever the same number comes from the same
// memory, so do branches with the same addresses, kinds and flags.
struct Repeat {
  std::uint64_t time = 0;   // of its branches
  std::uint32_t begin = 0;  // so many of Repeats::walked come before it
  std::uint32_t path = 0;
  std::uint32_t insns = 0;  // since the branch before; the path's own come on top
  std::uint32_t count = 0;  // of its branches, at least one
};

// A batch of branches in which those of remembered paths are not written out: that takes longer
// than all else, and who knows a path has no need of it. Valid as the batch is.
struct Repeats {
  // What a path's number counts.
  static constexpr std::size_t kStep = 4;
  // Parts of the batch: so many of `list` and of `walked`.
  struct Position {
    std::size_t repeats = 0;
    std::size_t walked = 0;
  };

  std::span<const Branch> walked;  // that are no path's, in order
  std::span<const Repeat> list;    // in order, by `begin`
  std::uint32_t memory = 0;        // no two memories of a process have the same number
  // The branches of path n are edges[numbers[kStep * n]] and those behind it, without time.
  std::span<const std::uint32_t> numbers;
  std::span<const Branch> edges;

  bool empty() const { return walked.empty() && list.empty(); }
  Position end() const { return {list.size(), walked.size()}; }
  // Of the first and the last branch; the batch is not empty.
  std::uint64_t first_time() const;
  std::uint64_t last_time() const;
  std::span<const std::uint32_t> numbers_of(const Repeat& repeat) const {
    return numbers.subspan(kStep * repeat.path, repeat.count);
  }
  // Puts a path's branches behind those of `out`.
  void append(const Repeat& repeat, std::vector<Branch>& out) const;
  // The last branches before a position, at most `most`.
  std::vector<Branch> last(std::size_t most, const Position& before) const;
  std::vector<Branch> all() const { return last(~std::size_t{0}, end()); }
};

// A part of the path whose branches a sink has judged before, all of one time.
struct Passage {
  std::uint64_t time = 0;
  std::uint32_t begin = 0;     // so many of Passages::walked come before it
  std::uint32_t branches = 0;  // in it, at least one
  std::uint32_t entries = 0;   // of Passages::entries, behind those of the passages before
  std::uint64_t insns = 0;     // before it, since the branch before; its own come on top
  // What it does to the calls that are open: so many of Passages::addresses, likewise. Returns to
  // the first ones, the innermost call's first; from the last ones it leaves calls open, as places
  // to return to, the innermost last.
  std::uint32_t returned = 0;
  std::uint32_t called = 0;
};

// A batch of branches in which passages are not written out. Valid as the batch is.
struct Passages {
  // Parts of the batch: so many of `list` and of `walked`.
  struct Position {
    std::size_t passages = 0;
    std::size_t walked = 0;
  };
  // A row of branches, or some instructions without any, in the words of who wrote it.
  struct Entry {
    std::uint64_t where = 0;
    std::uint64_t outcomes = 0;
  };
  // Who knows these words.
  class Reader {
   public:
    virtual ~Reader() = default;
    // Puts the branches of some neighbours among the batch's entries, all of one passage, behind
    // those of `out`; `insns` have run before the first, since the branch before.
    virtual void append(const Passages& batch, std::span<const Entry> entries, std::uint64_t insns,
                        std::uint64_t time, std::vector<Branch>& out) const = 0;
  };

  std::span<const Branch> walked;  // that are in no passage, in order
  std::span<const Passage> list;   // in order, by `begin`
  std::span<const Entry> entries;
  std::span<const std::uint32_t> returns;  // the entries' own
  std::span<const std::uint64_t> addresses;
  const Reader* reader = nullptr;

  bool empty() const { return walked.empty() && list.empty(); }
  Position end() const { return {list.size(), walked.size()}; }
  // Of the first and the last branch; the batch is not empty.
  std::uint64_t first_time() const;
  std::uint64_t last_time() const;
  // Puts a passage's branches behind those of `out`; `first` of all entries are of those before it.
  void append(const Passage& passage, std::size_t first, std::vector<Branch>& out) const;
  // The last branches before a position, at most `most`.
  std::vector<Branch> last(std::size_t most, const Position& before) const;
  std::vector<Branch> all() const;

 private:
  void append_last(const Passage& passage, std::size_t behind, std::size_t most,
                   std::vector<Branch>& out) const;
};

struct Transfers;
class CallJudge;

// Puts branches into text, in a thread of its own.
class BranchWriter {
 public:
  virtual ~BranchWriter() = default;
  // Behind what `out` has. The first branch may lack the `insns` of those before.
  virtual void write(std::span<const Branch> batch, std::string& out) = 0;
};

// Receives the decoded path, between its losses and events; spans as references above.
class BranchSink : public Listener {
 public:
  virtual void on_branches(std::span<const Branch> batch) = 0;
  // For sinks that can use what they know of a path when it comes again: on_repeats() is called in
  // the place of on_branches(). What is a repeat is the decoder's to choose; it may be nothing.
  virtual bool wants_repeats() const { return false; }
  virtual void on_repeats(const Repeats& batch) { on_branches(batch.all()); }
  // For sinks to which some jumps are nothing, those within a function above all: conditional
  // branches and direct jumps of which may_leave_out() says so need not come, and are only counted
  // (Transfer). The first branch of each time comes always, and as a branch.
  // The Stats have them all. `line` is where the straight line of code begins that the jump ends,
  // or another branch that fell through before it. One that falls through is asked about, too
  // (kNotTaken): if it is not to be left out, the next branch comes. May be asked by any thread at
  // any time, about a jump as often as the decoder likes, with the time at which it ran first.
  // on_transfers() is called in the place of on_branches().
  virtual bool leaves_out_jumps() const { return false; }
  virtual bool may_leave_out(std::uint64_t /*line*/, const Branch&) const { return false; }
  // With wants_lines() what is left out is counted exactly, and the code that ran comes, too.
  virtual bool wants_lines() const { return false; }
  // With a judge (call_spans.h) the decoder follows calls itself as far as it can tell, and what it
  // followed comes as spans of calls among the transfers, only summed up without wants_lines().
  // Must live as long as the decoding.
  virtual const CallJudge* call_judge() const { return nullptr; }
  virtual void on_transfers(const Transfers&) {}
  // For sinks to which a branch is nothing once they have judged it, but for the calls that it
  // opens and closes: those of which judged() says so may come as passages, on_passages() is called
  // in the place of on_branches(). Where repeats are wanted, too, on_repeats() may be called
  // instead.
  virtual bool wants_passages() const { return false; }
  enum class Judged : std::uint8_t {
    later,   // it has to come first
    comes,   // always
    passes,  // it may pass: a call opens one that returns to `next`, a return closes one
    // A return: it may pass, and since that hangs on each of its ends alone, so may every one from
    // there to where another return with this answer led, if it closes the call opened last.
    passes_apart,
  };
  // Of a near branch that was taken; `next` is behind a call. Holds as long as judged_by() is the
  // same and the code at both ends is not mapped anew. Both may be asked by any thread at any time,
  // also of branches that come later than the one that the sink is just told of.
  virtual Judged judged(const Branch&, std::uint64_t /*next*/) { return Judged::comes; }
  // What is judged at this time and at others goes by the same, if the number is.
  virtual std::uint64_t judged_by(std::uint64_t /*time*/) { return 0; }
  virtual void on_passages(const Passages&) {}
  // For sinks that only write branches down, each by itself: where several threads decode, each
  // writes what it has decoded, and on_written() is called in the place of on_branches(). writes()
  // is asked now and then, and holds up to the next event of paging; writer() by any thread.
  virtual bool writes() const { return false; }
  virtual std::unique_ptr<BranchWriter> writer() const { return nullptr; }
  virtual void on_written(std::string_view) {}
  // With Config::want_instructions: the address of every instruction, in order.
  virtual void on_instructions(std::span<const std::uint64_t>) {}
};

// How often a branch was executed. Conditional branches that fell through are edges too: kNotTaken.
struct EdgeCount {
  std::uint64_t from = 0;  // as in Branch: 0 for begin
  std::uint64_t to = 0;
  std::uint64_t count = 0;
  BranchKind kind = BranchKind::lost;
  std::uint8_t flags = 0;
};

// Receives which edges ran how often, for users to whom their order and time are nothing: decoding
// is several times faster without. coverage.h has the usual ones.
class EdgeSink : public Listener {
 public:
  // An edge may come any number of times, in any order, not later than the end of decoding: what
  // counts is the sum.
  virtual void on_edges(std::span<const EdgeCount> edges) = 0;
  void on_loss(const Loss&) override {}  // the Stats count them
};

// A straight line of code, the branch at its end, and how often they were executed one after the
// other.
struct RunCount {
  EdgeCount edge;
  // Where the branch before led, and the line begins; 0: unknown, or there is none (the first
  // branch, and those behind one that ended the trace).
  std::uint64_t begin = 0;
  std::uint64_t time = 0;   // as Branch::time; of what comes several times, the least is the first
  std::uint32_t insns = 0;  // of the line, with the branch if that retired, each time
};

// RunCount::begin of what is executed behind a branch.
constexpr std::uint64_t line_behind(const Branch& branch) {
  const bool ends = (branch.flags & kTraceEnd) != 0 || branch.kind == BranchKind::end;
  return ends ? 0 : branch.to;
}

// Receives which code ran how often, as EdgeSink does with the edges alone.
class RunSink : public Listener {
 public:
  // As EdgeSink::on_edges.
  virtual void on_runs(std::span<const RunCount> runs) = 0;
  void on_loss(const Loss&) override {}
};

// Decodes streams that ran the same code. What it learns about the code, and which paths were taken
// through it, is kept from call to call, so that the second trace of a program decodes many times
// faster than the first. One call at a time; different decoders are independent.
//
// Decoding never fails: what cannot be decoded is a Loss. It takes time linear in the bytes and
// memory independent of them (what is remembered grows with the distinct code and paths that ran,
// up to a limit of some 100 MB for each thread).
class Decoder {
 public:
  // `code` must outlive the decoder and never change its answers.
  Decoder(const image::CodeSource& code, const Config& config);
  ~Decoder();
  Decoder(Decoder&& other) noexcept;
  Decoder& operator=(Decoder&& other) noexcept;

  // One stream.
  Stats decode(PieceSource& stream, BranchSink& sink);
  // Edges instead of branches. Config::want_not_taken and want_instructions are of no account.
  Stats cover(PieceSource& stream, EdgeSink& sink);
  // The same with the code that lies between the edges.
  Stats cover(PieceSource& stream, RunSink& sink);
  // Nothing but the numbers.
  Stats count(PieceSource& stream, Listener& listener);
  // The same of all its pieces, in order.
  Stats decode(std::span<const Piece> pieces, BranchSink& sink);
  Stats cover(std::span<const Piece> pieces, EdgeSink& sink);
  Stats cover(std::span<const Piece> pieces, RunSink& sink);
  Stats count(std::span<const Piece> pieces, Listener& listener);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// With a decoder of its own.
Stats decode(std::span<const Piece> pieces, const image::CodeSource& code, const Config& config,
             BranchSink& sink);
// The same for one piece at offset 0.
Stats decode(std::span<const std::uint8_t> trace, const image::CodeSource& code,
             const Config& config, BranchSink& sink);

}  // namespace hodo::flow
