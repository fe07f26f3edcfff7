#include "hodo/unit/pt_unit.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "hodo/hw/intel_pt.h"

namespace hodo::unit {
namespace {

using isa::InsnClass;

// Stands for "tracing is disabled": no block can follow it as predicted.
constexpr Block kNoBlock;
// Stands for the last block while a code change waits to be synchronised with.
constexpr Block kCodeChange;

// Opcodes of packets that are written here (SDM, "Packet Definitions").
constexpr std::uint8_t kTip = 0x0d, kTipPge = 0x11, kTipPgd = 0x01, kFup = 0x1d;
constexpr std::uint8_t kTsc = 0x19, kMtc = 0x59, kMode = 0x99;
constexpr std::uint64_t kOvf = 0xf302, kPsbEnd = 0x2302, kTraceStop = 0x8302;
constexpr std::uint64_t kPsbHalf = 0x8202820282028202;
constexpr std::uint64_t kPip = 0x4302;
constexpr std::uint64_t kTma = 0x7302, kCbr = 0x0302, kTntLongOpcode = 0xa302;
constexpr std::uint64_t kModeTsxNone = 0x20;
// Core:bus ratio. The unit's core runs at its TSC's frequency, whatever that is called.
constexpr std::uint64_t kCoreBusRatio = 10;
// No address that a program has: the next IP after this one is sent in full. The manual lets a PSB
// set the last IP to 0, but processors send full IPs behind PSB and OVF, and decoders have come to
// expect it.
constexpr std::uint64_t kNoLastIp = 1ULL << 63 | 1ULL << 47;

// What lies above the lowest 16 bits of an IP, which every packet carries.
constexpr std::uint64_t high_part(std::uint64_t ip) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(ip) >> 16);
}
// An MTC carries 8 bits; after a longer silence only a TSC says where time is.
constexpr std::uint64_t kMtcReach = 250;

std::uint64_t exec_mode_bits(isa::Mode mode) {
  if (mode == isa::Mode::bits64) return 1;
  return mode == isa::Mode::bits32 ? 2 : 0;
}

// The block's successors are known without a TIP.
bool is_predictable(const Block& b) { return b.taken != Block::kNowhere; }
bool follows(const Block& b, std::uint64_t ip) { return ip == b.taken || ip == b.other; }

// A short TNT packet of the `count` lowest outcomes: they stand under a stop bit, above a 0.
constexpr std::uint64_t short_tnt(std::uint64_t outcomes, unsigned count) {
  const std::uint64_t stop = 1ULL << count;
  return ((outcomes & (stop - 1)) | stop) << 1;
}

// A long TNT packet of the `count` lowest outcomes.
constexpr std::uint64_t long_tnt(std::uint64_t outcomes, unsigned count) {
  const std::uint64_t stop = 1ULL << count;
  return kTntLongOpcode | ((outcomes & (stop - 1)) | stop) << 16;
}

// How many outcomes there are under a stop bit `gap` places above them.
constexpr unsigned count_outcomes(std::uint64_t outcomes, unsigned gap) {
  return 63 - gap - static_cast<unsigned>(__builtin_clzll(outcomes));
}

// The outcomes with the digest's lowest bits in the gap.
constexpr std::uint64_t with_digest(std::uint64_t outcomes, unsigned gap, std::uint64_t digest) {
  const std::uint64_t bits = (1ULL << gap) - 1;
  const unsigned count = count_outcomes(outcomes, gap);
  return (outcomes & ~(bits << count)) | (digest & bits) << count;
}

struct TntBytes {
  std::uint64_t value = 0;
  unsigned size = 0;
};

// `count` outcomes in as few bytes as they fit.
TntBytes tnt_packets(std::uint64_t outcomes, unsigned count) {
  if (count > 42) return {long_tnt(outcomes, count), 8};
  TntBytes out;
  for (unsigned left = count; left > 0; ++out.size) {
    const unsigned n = std::min(left, 6U);
    left -= n;
    out.value |= short_tnt(outcomes >> left, n) << 8 * out.size;
  }
  return out;
}

}  // namespace

PtRemains PtUnit::nobodys_;

PtRemains remains_behind(std::uint64_t digest, bool lost) {
  if (lost) return {digest, digest ^ PtUnit::kEndLost};
  return {digest, with_digest(PtUnit::kNoTnt, PtUnit::kTntGap, digest)};
}

PtRemains no_remains(std::uint64_t key) { return remains_behind(StreamDigest(key).value(), false); }

[[gnu::always_inline]] inline void PtUnit::leave_remains() {
  const std::uint64_t digest = digest_.value();
  store(remains_->digest, digest);
  set_outcomes(with_digest(tnt_, kTntGap, digest));
}

// `value` has nothing above its `bytes`.
[[gnu::always_inline]] inline void PtUnit::put_bytes(std::uint64_t value, unsigned bytes) {
  std::memcpy(cursor_, &value, sizeof(value));
  cursor_ += bytes;
  digest_.add(value, bytes);
  leave_remains();
}

// SDM, "IP Compression": the fewest low bytes that the last IP does not already have.
[[gnu::always_inline]] inline void PtUnit::put_ip(std::uint8_t opcode, std::uint64_t ip) {
  struct Form {
    std::uint8_t bits, bytes;
  };
  // By the number of 16-bit groups that differ.
  static constexpr Form kForms[] = {
      {1 << 5, 2}, {1 << 5, 2}, {2 << 5, 4}, {3 << 5, 6}, {6 << 5, 8}};
  const std::uint64_t high = high_part(ip);
  const std::uint64_t diff = (high ^ last_high_) << 16;
  unsigned groups = (79 - static_cast<unsigned>(__builtin_clzll(diff | 1))) / 16;
  // Sign extension gives the upper 16 bits of every address that has no upper half of its own.
  const bool canonical =
      static_cast<std::uint64_t>(static_cast<std::int64_t>(ip << 16) >> 16) == ip;
  if (groups > 2) groups = canonical ? 3 : 4;
  const Form form = kForms[groups];
  last_high_ = high;
  const std::uint64_t head = ip << 8 | (opcode | form.bits);
  if (groups == 4) [[unlikely]] {
    cursor_[8] = static_cast<std::uint8_t>(ip >> 56);
    std::memcpy(cursor_, &head, 8);
    cursor_ += 9;
    digest_.add(head, 8);
    digest_.add(ip >> 56, 1);
    return leave_remains();
  }
  put_bytes(head & ~std::uint64_t{0} >> (56 - 8 * form.bytes), 1 + form.bytes);
}

// The pending outcomes, in as few bytes as they fit: short packets of up to 6, or one long packet.
// How many there are is hard to predict, so up to 12 are written without asking.
[[gnu::always_inline]] inline void PtUnit::flush_tnt() {
  if (tnt_ < kNoTnt << 1) return;
  put_cyc();
  // What is in a packet must not be left as pending, too.
  const std::uint64_t outcomes = std::exchange(tnt_, kNoTnt);
  const unsigned count = count_outcomes(outcomes, kTntGap);
  if (count <= 12) [[likely]] {
    const unsigned two = count > 6 ? 1 : 0;
    const unsigned rest = count - 6 * two;
    const std::uint64_t first = short_tnt(outcomes >> rest, 6);
    const std::uint64_t last = short_tnt(outcomes, rest);
    put_bytes((first & (0 - std::uint64_t{two})) | last << 8 * two, 1 + two);
  } else {
    const TntBytes packets = tnt_packets(outcomes, count);
    put_bytes(packets.value, packets.size);
  }
}

std::optional<PtEnd> pending_packets(std::uint64_t outcomes, std::uint64_t digest) {
  constexpr unsigned kGap = PtUnit::kTntGap;
  TntBytes packets{kOvf, 2};
  const bool lost = (outcomes ^ digest) == PtUnit::kEndLost;
  if (!lost) {
    if (outcomes < PtUnit::kNoTnt) return std::nullopt;  // no stop bit
    if (outcomes != with_digest(outcomes, kGap, digest)) return std::nullopt;
    packets = tnt_packets(outcomes, count_outcomes(outcomes, kGap));
  }
  PtEnd end{.size = packets.size, .lost = lost};
  std::memcpy(end.bytes.data(), &packets.value, end.bytes.size());
  return end;
}

PtUnit::PtUnit() : last_(&kNoBlock) {}

void PtUnit::start(std::uint64_t rtit_ctl, isa::Mode mode, const PtOutput& output,
                   std::uint64_t (*clock)()) {
  *this = PtUnit();
  rtit_ctl_ = rtit_ctl;
  mode_ = mode;
  output_ = output;
  clock_ = clock;
  if (output.remains != nullptr) remains_ = output.remains;
  digest_ = StreamDigest(output.key);
  leave_remains();
  cursor_ = mark_ = output.base;
  state_ = State::disabled;
  grant(output_.reserve(output_.owner, 0));
  if (state_ == State::disabled) put_psb(0);
}

const Block* PtUnit::current() const {
  if (state_ != State::enabled) return nullptr;
  return last_ == &kCodeChange ? pending_ : last_;
}

void PtUnit::move_current(const Block* to) { (last_ == &kCodeChange ? pending_ : last_) = to; }

void PtUnit::enter_stepped(const Block* b) {
  if (state_ == State::enabled && current()->contains(b->start) && b->end() < current()->end()) {
    insns_ += b->insns;
    move_current(b);
    return;
  }
  enter<true>(b);
}

// The block is no predicted successor of the last one: indirect branches come here, and every state
// but State::enabled does, because last_ is then a block that nothing follows and that is no
// branch.
void PtUnit::enter_unpredicted(const Block* from, const Block* b) {
  const std::uint64_t ip = b->start;
  if (b->mode() != mode_) [[unlikely]] {
    mode_ = b->mode();
    mode_due_ = true;
  }
  if (!(b->flags & Block::kHandler)) {
    if (from->cls == InsnClass::ret) return resolve_return(ip);
    if (from->cls == InsnClass::ijmp) return take_tip(ip);
    if (from->cls == InsnClass::icall) {
      push(from);
      return take_tip(ip);
    }
  }
  switch (state_) {
    case State::off:
      last_ = &kNoBlock;
      return;
    case State::disabled:
      return enable(ip);
    case State::overflow:
      return recover(ip);
    case State::enabled:
      return enter_by_event(from, b);
  }
}

// Was b reached by an event rather than from `from`? The owner knows; ask only where it can be.
bool PtUnit::signalled(const Block& from, const Block& b, std::uint64_t& ip, bool& faulted) const {
  if (output_.interrupted == nullptr) return false;
  const bool possible =
      is_predictable(from) ? !follows(from, b.start) : (b.flags & Block::kHandler) != 0;
  return possible && output_.interrupted(output_.owner, b, ip, faulted);
}

void PtUnit::enter_by_event(const Block* from, const Block* b) {
  const bool new_code = from == &kCodeChange;
  if (new_code) from = pending_;
  std::uint64_t at = b->start;
  bool faulted = false;
  const bool event = signalled(*from, *b, at, faulted);
  if (!event && !new_code) return resolve(from, b->start);
  last_ = from;
  if (event && !new_code && traces_kernel()) return take_event(at, faulted, b);
  interrupt(at, faulted);
  if (state_ != State::disabled) return;
  last_ = b;
  enable(b->start);
}

// SDM, "IP Filtering": leaving by any branch makes a TIP.PGD with the target in place of what the
// branch would have made.
void PtUnit::leave_filter(const Block* b) {
  if (state_ != State::enabled) return;
  const Block* from = settle_marker();
  std::uint64_t at = b->start;
  bool faulted = false;
  if (signalled(*from, *b, at, faulted)) return interrupt(at, faulted);
  flush_tnt();
  put_cyc();
  put_ip(kTipPgd, b->start);
  disable();
}

// Writes what execution going from the end of `from` to `to` makes a processor write.
void PtUnit::resolve(const Block* from, std::uint64_t to) {
  const bool taken = to == from->taken;
  if (taken || to == from->other) return follow(from, to, taken);
  switch (from->cls) {
    case InsnClass::ret:
      return resolve_return(to);
    case InsnClass::icall:
      push(from);
      return take_tip(to);
    case InsnClass::mov_cr3:
      if (to == from->end()) {
        put_pip();
        if (cursor_ >= limit_) service(to);
        return;
      }
      [[fallthrough]];
    case InsnClass::other:
    case InsnClass::cond:
    case InsnClass::jmp:
    case InsnClass::call:
      // Cut short inside the block and continued there: no branch was executed.
      if (from->contains(to)) return;
      // No branch, signal or fault explains how execution got here. Say so instead of inventing
      // one.
      return mark_unexplained(to);
    default:
      return take_tip(to);
  }
}

void PtUnit::mark_unexplained(std::uint64_t to) {
  const Block* keep = last_;
  ++unexplained_;
  lose();
  --overflows_;
  last_ = keep;
  recover(to);
}

void PtUnit::resolve_return(std::uint64_t to) {
  std::uint64_t& top = stack_[stack_top_ & kStackMask];
  // A return to address 0 is not what an empty entry says.
  const bool predicted = top == to && to != 0 && !(rtit_ctl_ & hw::rtit_ctl::kDisRetc);
  if (top != 0) {
    top = 0;
    --stack_top_;
  }
  if (!predicted) return take_tip(to);
  set_outcomes(tnt_ << 1 | 1);
  if (static_cast<std::int64_t>(tnt_) < 0) flush_full_tnt(to);
}

void PtUnit::take_tip(std::uint64_t to) {
  flush_tnt();
  put_mode_if_due();
  put_cyc();
  put_ip(kTip, to);
  if (cursor_ >= limit_) service(to);
}

void PtUnit::leave_context() {
  if (state_ != State::enabled) return;
  settle_marker();
  flush_tnt();
  put_cyc();
  put_bytes(kTipPgd, 1);
  disable();
}

void PtUnit::interrupt(std::uint64_t ip, bool faulted) {
  if (state_ != State::enabled) return;
  const Block* from = settle_marker();
  const bool executed = !(faulted && from->contains(ip));
  if (executed && (from->cls == InsnClass::syscall || from->cls == InsnClass::int_)) {
    return leave_context();
  }
  if (executed) resolve(from, ip);
  if (state_ != State::enabled) return;
  flush_tnt();
  put_cyc();
  put_ip(kFup, ip);
  put_bytes(kTipPgd, 1);
  disable();
}

// SDM, "Packet Generation under Different Enable Conditions": FUP(NLIP or CLIP), MODE.Exec?, TIP. A
// software interrupt's FUP has the address of the instruction itself.
void PtUnit::take_event(std::uint64_t ip, bool faulted, const Block* handler) {
  const Block* from = last_;
  const bool executed = !(faulted && from->contains(ip));
  if (executed && from->cls == InsnClass::int_) {
    ip = from->source();
  } else if (executed) {
    resolve(from, ip);
  }
  if (state_ != State::enabled) return;
  last_ = handler;
  flush_tnt();
  put_cyc();
  put_ip(kFup, ip);
  take_tip(handler->start);
}

void PtUnit::code_changed() {
  if (state_ != State::enabled || last_ == &kCodeChange) return;
  pending_ = last_;
  last_ = &kCodeChange;
}

const Block* PtUnit::settle_marker() {
  if (last_ == &kCodeChange) last_ = pending_;
  return last_;
}

void PtUnit::enable(std::uint64_t ip) {
  if (cursor_ >= limit_) {
    grant(output_.reserve(output_.owner, written()));
    if (state_ != State::disabled) return;
  }
  state_ = State::enabled;
  put_tsc();
  put_pip_if_due();
  put_mode_if_due();
  put_cyc();
  put_ip(kTipPge, ip);
  if (written() >= psb_due_) put_psb(ip);
}

void PtUnit::disable() {
  state_ = State::disabled;
  last_ = &kNoBlock;
  // What was called before must not be returned to by a bit: a decoder that starts here cannot
  // know.
  clear_stack();
}

void PtUnit::flush_full_tnt(std::uint64_t next_ip) {
  put_cyc();
  put_bytes(long_tnt(std::exchange(tnt_, kNoTnt), kTntLong), 8);
  if (cursor_ >= limit_) service(next_ip);
}

// Once in a while: time, PSB, and room in the output. Only called where no outcome is pending and a
// decoder that has read everything so far stands exactly at `ip`, which PSB+ needs for its FUP.
void PtUnit::service(std::uint64_t ip) {
  put_mtc_if_due();
  if (written() >= psb_due_) put_psb(ip);
  serviced_ip_ = ip;
  grant(output_.reserve(output_.owner, written()));
  serviced_ip_ = 0;
}

void PtUnit::grant(std::uint64_t room) {
  const auto out = static_cast<std::uint64_t>(cursor_ - output_.base);
  if (out >= output_.size) {
    written_at_mark_ = written();
    cursor_ -= output_.size;
    mark_ = cursor_;
  }
  if (room < 2 * kSlack) return lose();
  limit_ = cursor_ + std::min(output_.service_bytes, room - kSlack);
}

void PtUnit::lose() {
  if (state_ == State::off) return;  // stopped while it asked for room: nothing more was wanted
  ++overflows_;
  tnt_ = kNoTnt;
  store(remains_->outcomes, kEndLost ^ digest_.value());
  state_ = State::overflow;
  last_ = &kNoBlock;
  clear_stack();
}

// SDM, "Overflow (OVF) Packet": after the gap OVF, then a FUP with the IP where tracing goes on.
void PtUnit::recover(std::uint64_t ip) {
  const std::uint64_t room = output_.reserve(output_.owner, written());
  if (room < 4 * kSlack) {
    last_ = &kNoBlock;
    return;
  }
  state_ = State::enabled;
  grant(room);
  put_bytes(kOvf, 2);
  last_high_ = high_part(kNoLastIp);
  put_ip(kFup, ip);
  put_psb(ip);
}

void PtUnit::stop() {
  if (state_ == State::enabled) {
    // As an interrupt would: no branch of the program ended the tracing.
    const Block* here = settle_marker();
    flush_tnt();
    put_ip(kFup, serviced_ip_ != 0 ? serviced_ip_ : here->start);
    put_bytes(kTipPgd, 1);
  }
  if (state_ == State::overflow) put_bytes(kOvf, 2);
  if (state_ != State::off) put_bytes(kTraceStop, 2);
  state_ = State::off;
  last_ = &kNoBlock;
}

void PtUnit::clear_stack() {
  ++calls_forgotten_;
  stack_.fill(0);
  stack_top_ = 0;
}

void PtUnit::enter_at(std::uint64_t ip) {
  if (state_ == State::disabled) {
    enable(ip);
  } else if (state_ == State::overflow) {
    recover(ip);
  }
  if (state_ != State::enabled) limit_ = cursor_;
}

void PtUnit::leave_after(std::uint64_t outcomes) {
  flush_at(outcomes, 0);
  leave_context();
}

void PtUnit::interrupt_after(std::uint64_t outcomes, std::uint64_t ip) {
  flush_at(outcomes, ip);
  if (state_ != State::enabled) return;
  put_cyc();
  put_ip(kFup, ip);
  put_bytes(kTipPgd, 1);
  disable();
}

void PtUnit::branch_after(std::uint64_t outcomes, std::uint64_t ip) {
  flush_at(outcomes, 0);
  if (state_ == State::enabled) take_tip(ip);
  if (state_ != State::enabled) limit_ = cursor_;
}

void PtUnit::pass_time(std::uint64_t outcomes) {
  flush_at(outcomes, 0);
  if (state_ == State::enabled) put_tsc();
}

void PtUnit::flush_at(std::uint64_t outcomes, std::uint64_t ip) {
  if (state_ == State::overflow || state_ == State::off) {
    cursor_ = limit_;
    if (state_ == State::overflow && ip != 0) recover(ip);
  } else if (state_ == State::enabled) {
    const std::uint64_t stop = 1ULL << (63 - __builtin_clzll(outcomes));
    tnt_ = outcomes - stop + (stop << kTntGap);  // the unit keeps its stop bit further up
    flush_tnt();
    if (cursor_ >= limit_ && ip != 0) service(ip);
  }
  if (state_ != State::enabled) limit_ = cursor_;
}

// PSB+ (SDM, "Packet Stream Boundary (PSB) Packet"): everything a decoder needs to start here.
void PtUnit::put_psb(std::uint64_t ip) {
  flush_tnt();
  put_bytes(kPsbHalf, 8);
  put_bytes(kPsbHalf, 8);
  put_tsc();
  put_bytes(kCbr | kCoreBusRatio << 16, 4);
  if (state_ == State::enabled) put_pip();
  put_bytes(kMode | exec_mode_bits(mode_) << 8, 2);
  mode_due_ = false;
  put_bytes(kMode | kModeTsxNone << 8, 2);
  last_high_ = high_part(kNoLastIp);
  if (state_ == State::enabled) put_ip(kFup, ip);
  put_bytes(kPsbEnd, 2);
  clear_stack();
  psb_due_ = written() +
             hw::psb_period_bytes(static_cast<unsigned>(hw::rtit_ctl::kPsbFreq.get(rtit_ctl_)));
}

void PtUnit::put_mode_if_due() {
  if (!mode_due_) [[likely]]
    return;
  put_bytes(kMode | exec_mode_bits(mode_) << 8, 2);
  mode_due_ = false;
}

// CR3 may have changed while nothing was traced.
void PtUnit::put_pip_if_due() {
  if (!traces_kernel() || output_.cr3 == nullptr) return;
  if (output_.cr3(output_.owner) != cr3_) put_pip();
}

// SDM, "Paging Information (PIP) Packet": CR3[51:5] above NR, which is 0: nothing here runs in VMX
// non-root operation.
void PtUnit::put_pip() {
  if (!traces_kernel() || output_.cr3 == nullptr) return;
  constexpr std::uint64_t kPayload = 0x000f'ffff'ffff'ffe0;
  flush_tnt();
  put_cyc();
  cr3_ = output_.cr3(output_.owner);
  put_bytes(kPip | (cr3_ & kPayload) >> 5 << 17, 8);
}

void PtUnit::put_tsc() {
  if (!(rtit_ctl_ & hw::rtit_ctl::kTscEn)) return;
  const std::uint64_t now = clock_();
  put_bytes(kTsc | now << 8, 8);
  if (!(rtit_ctl_ & hw::rtit_ctl::kMtcEn)) return;
  const std::uint64_t ctc = now / kTscPerCtc;
  put_bytes(kTma | (ctc & 0xffff) << 16 | (now % kTscPerCtc) << 40, 7);
  last_mtc_ = ctc >> hw::rtit_ctl::kMtcFreq.get(rtit_ctl_);
}

void PtUnit::put_mtc_if_due() {
  if (!(rtit_ctl_ & hw::rtit_ctl::kMtcEn)) return;
  const std::uint64_t mtc = (clock_() / kTscPerCtc) >> hw::rtit_ctl::kMtcFreq.get(rtit_ctl_);
  if (mtc == last_mtc_) return;
  if (mtc - last_mtc_ > kMtcReach) return put_tsc();
  put_cyc();
  put_bytes(kMtc | (mtc & 0xff) << 8, 2);
  last_mtc_ = mtc;
}

// SDM, "Cycle Count (CYC) Packet": elapsed cycles, here instructions, before a packet that they
// time.
void PtUnit::put_cycles() {
  const auto threshold = static_cast<unsigned>(hw::rtit_ctl::kCycThresh.get(rtit_ctl_));
  std::uint64_t cycles = insns_ - cyc_sent_;
  if (cycles == 0 || (threshold != 0 && cycles < 1U << (threshold - 1))) return;
  cyc_sent_ = insns_;
  put_bytes(0x3 | (cycles & 0x1f) << 3 | (cycles >> 5 != 0 ? 0x4 : 0), 1);
  for (cycles >>= 5; cycles != 0; cycles >>= 7) {
    put_bytes((cycles & 0x7f) << 1 | (cycles >> 7 != 0 ? 1 : 0), 1);
  }
}

}  // namespace hodo::unit
