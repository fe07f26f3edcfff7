#include "hodo/unit/lbr_unit.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace hodo::unit {
namespace {

using hw::BranchClass;
using hw::LbrFormat;

constexpr std::uint16_t class_bit(BranchClass cls) {
  return static_cast<std::uint16_t>(1U << static_cast<unsigned>(cls));
}

// Which bit of a filter register stands for which class.
struct FilterBit {
  std::uint64_t bit;
  BranchClass cls;
};
constexpr FilterBit kSuppress[] = {
    {hw::lbr_select::kJcc, BranchClass::cond},
    {hw::lbr_select::kNearRelCall, BranchClass::rel_call},
    {hw::lbr_select::kNearIndCall, BranchClass::ind_call},
    {hw::lbr_select::kNearRet, BranchClass::ret},
    {hw::lbr_select::kNearIndJmp, BranchClass::ind_jmp},
    {hw::lbr_select::kNearRelJmp, BranchClass::rel_jmp},
    {hw::lbr_select::kFarBranch, BranchClass::other},
};
constexpr FilterBit kCapture[] = {
    {hw::arch_lbr_ctl::kJcc, BranchClass::cond},
    {hw::arch_lbr_ctl::kNearRelCall, BranchClass::rel_call},
    {hw::arch_lbr_ctl::kNearIndCall, BranchClass::ind_call},
    {hw::arch_lbr_ctl::kNearRet, BranchClass::ret},
    {hw::arch_lbr_ctl::kNearIndJmp, BranchClass::ind_jmp},
    {hw::arch_lbr_ctl::kNearRelJmp, BranchClass::rel_jmp},
    {hw::arch_lbr_ctl::kOther, BranchClass::other},
};

// The classes whose bits are `set` in the filter register.
template <std::size_t N>
std::uint16_t classes(const FilterBit (&bits)[N], std::uint64_t select, bool set) {
  std::uint16_t out = 0;
  for (const FilterBit& bit : bits) {
    if (((select & bit.bit) != 0) == set) out |= class_bit(bit.cls);
  }
  return out;
}

bool has_cycles_in_info(LbrFormat format) {
  return format == LbrFormat::info || format == LbrFormat::info2 || format == LbrFormat::arch;
}

}  // namespace

void LbrUnit::configure(const hw::LbrLayout& layout) {
  *this = LbrUnit();
  layout_ = layout;
  learn_format();
  set_depth(layout.depth);
  select(layout.format == LbrFormat::arch
             ? hw::arch_lbr_ctl::kAllBranches | hw::arch_lbr_ctl::kOs | hw::arch_lbr_ctl::kUsr
             : 0);
}

// What encode_lbr makes of a branch without flags, as masks.
void LbrUnit::learn_format() {
  const LbrFormat format = layout_.format;
  from_mask_ = hw::encode_lbr({.from = ~0ull}, format).from;
  to_flags_ = hw::encode_lbr({}, format).to;
  to_mask_ = hw::encode_lbr({.to = ~0ull}, format).to & ~to_flags_;
  to_cycles_ = format == LbrFormat::time ? kMaxCycles : 0;
  info_cycles_ = has_cycles_in_info(format) ? kMaxCycles : 0;
  for (unsigned n = 0; n < info_.size(); ++n) {
    const BranchClass cls = branch_class(static_cast<isa::InsnClass>(n));
    const hw::LbrEntry entry{.cycles = 1, .type = cls};
    info_[n] = hw::encode_lbr(entry, format).info & ~kMaxCycles;
  }
}

void LbrUnit::set_depth(unsigned depth) {
  depth_ = std::min<unsigned>(depth, layout_.depth);
  // Where TOS names registers it wraps at the depth; otherwise the ring may be larger than that.
  mask_ = layout_.tos != 0 && depth_ != 0 ? std::bit_ceil(depth_) - 1 : kSlots - 1;
  clear();
}

void LbrUnit::clear() {
  ring_.fill({});
  top_ = 0;
}

void LbrUnit::enable(bool on) {
  enabled_ = on;
  update();
}

void LbrUnit::select(std::uint64_t value) {
  select_ = value;
  learn_filter();
  update();
}

void LbrUnit::learn_filter() {
  if (layout_.format == LbrFormat::arch) {
    classes_ = classes(kCapture, select_, true);
    to_os_ = (select_ & hw::arch_lbr_ctl::kOs) != 0;
    to_user_ = (select_ & hw::arch_lbr_ctl::kUsr) != 0;
    call_stack_ = layout_.call_stack && (select_ & hw::arch_lbr_ctl::kCallStack) != 0;
    return;
  }
  const std::uint64_t value = layout_.select != 0 ? select_ : 0;
  classes_ = classes(kSuppress, value, false);
  to_os_ = (value & hw::lbr_select::kCplEq0) == 0;
  to_user_ = (value & hw::lbr_select::kCplNeq0) == 0;
  call_stack_ = layout_.call_stack && (value & hw::lbr_select::kEnCallstack) != 0;
}

// Brings what the hot path looks at in line with the registers.
void LbrUnit::update() {
  wanted_ = 0;
  if (enabled_ && depth_ != 0 && to_user_ && !call_stack_) {
    for (unsigned n = 0; n < 32; ++n) {
      const auto cls = static_cast<isa::InsnClass>(n);
      if (isa::is_branch(cls) && (classes_ & class_bit(branch_class(cls)))) wanted_ |= bit_of(cls);
    }
  }
  if (left_ > 0) countdown_ = left_;
  left_ = keeps_calls() ? 0 : countdown_;
}

void LbrUnit::count_down(std::uint64_t branches, void (*handler)(void* owner), void* owner) {
  handler_ = handler;
  owner_ = owner;
  countdown_ =
      branches != 0 ? static_cast<std::int64_t>(std::min<std::uint64_t>(branches, kNever)) : kNever;
  left_ = keeps_calls() ? 0 : countdown_;
}

void LbrUnit::count_one() {
  std::int64_t& left = keeps_calls() ? countdown_ : left_;
  if (--left <= 0) overflow();
}

void LbrUnit::overflow() {
  (keeps_calls() ? countdown_ : left_) = kNever;
  handler_(owner_);
}

// The counter overflows with this branch, or the stack keeps calls.
void LbrUnit::take_specially(const Block& from, std::uint64_t to, std::uint64_t taken) {
  if (!keeps_calls()) return overflow();
  left_ = 0;
  if ((taken & contains(kAllBranches, from.cls)) == 0) return;
  const ExecutedBranch b{.from = from.source(), .to = to, .cls = branch_class(from.cls)};
  if (wants(b)) keep_call(b);
  count_one();
}

bool LbrUnit::wants(const ExecutedBranch& b) const {
  if (!enabled_ || depth_ == 0 || b.to == 0) return false;
  if (b.from == 0 && (b.from_cpl != 0 || b.resumes)) return false;
  return (b.to_cpl == 0 ? to_os_ : to_user_) && (classes_ & class_bit(b.cls)) != 0;
}

void LbrUnit::branch(const ExecutedBranch& b) {
  elapsed_ += b.insns;
  if (b.event) last_interrupt_ = ring_[top_ & mask_];
  if (wants(b)) keeps_calls() ? keep_call(b) : push(b);
  if (b.from != 0 && !b.event) count_one();
}

void LbrUnit::push(const ExecutedBranch& b) {
  const hw::LbrEntry entry{.from = b.from,
                           .to = b.to,
                           .cycles = static_cast<std::uint16_t>(std::min(elapsed_, kMaxCycles)),
                           .mispredicted = b.mispredicted,
                           .in_tx = b.in_tx,
                           .abort = b.abort,
                           .type = b.cls};
  ring_[++top_ & mask_] = hw::encode_lbr(entry, layout_.format);
  elapsed_ = 0;
}

// SDM, "Call Stack Profiling": a call is recorded as ever, a return takes the newest record away.
// Other branches are recorded if the filter passes them, which software is told not to want.
void LbrUnit::keep_call(const ExecutedBranch& b) {
  if (b.cls == BranchClass::ret) {
    ring_[top_-- & mask_] = {};
    return;
  }
  push(b);
  // What falls out at the bottom does not come back when returns make room.
  if (depth_ <= mask_) ring_[(top_ - depth_) & mask_] = {};
}

std::size_t LbrUnit::newest_first(std::span<hw::LbrRegisters> out) const {
  const std::size_t most = std::min<std::size_t>(out.size(), depth_);
  std::size_t n = 0;
  while (n < most && ring_[(top_ - n) & mask_] != hw::LbrRegisters{}) {
    out[n] = ring_[(top_ - n) & mask_];
    ++n;
  }
  return n;
}

}  // namespace hodo::unit
