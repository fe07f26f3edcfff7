// The last branch records of the software trace unit: executed branches in, a stack of registers
// out (Intel SDM vol. 3, "Last Branch Records" and "Last Branch, Interrupt, and Exception
// Recording"). Any processor's stack: depth, registers and format are an hw::LbrLayout.
//
// Hot path: take(), a few nanoseconds. Plain data without owned memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "hodo/hw/lbr.h"
#include "hodo/unit/block.h"
#include "hodo/unit/executed_branch.h"

namespace hodo::unit {

class LbrUnit {
 public:
  LbrUnit() = default;

  // The processor's stack, empty; recording is off and nothing is filtered.
  void configure(const hw::LbrLayout& layout);
  const hw::LbrLayout& layout() const { return layout_; }

  // Recording on or off (IA32_DEBUGCTL.LBR, IA32_LBR_CTL.LBREn, DBG_EXTN_CFG.LBRV2EN, and frozen).
  void enable(bool on);
  bool enabled() const { return enabled_; }
  // LBR_SELECT, IA32_LBR_CTL or AMD's LBR_SELECT, by what the layout has. Bits that mean nothing
  // there are ignored.
  void select(std::uint64_t value);
  // The records of a smaller stack than the layout's: IA32_LBR_DEPTH. Empties the stack.
  void set_depth(unsigned depth);
  void clear();

  // A performance counter that counts branches in take() and branch(), recorded or not. When it has
  // counted `branches` of them, `handler` is called, once, after the last one was recorded. 0: it
  // does not count.
  void count_down(std::uint64_t branches, void (*handler)(void* owner), void* owner);

  // The last instruction of `from`, executed at CPL 3, went to `to`; `taken` is 1, or 0 for a
  // conditional branch that fell through. Instructions that are no branches are passed over.
  [[gnu::always_inline]] void take(const Block& from, std::uint64_t to, std::uint64_t taken) {
    elapsed_ += from.insns;
    const std::uint64_t wanted = taken & contains(wanted_, from.cls);
    const std::uint64_t cycles = elapsed_ < kMaxCycles ? elapsed_ : kMaxCycles;
    // What is not wanted is written, too, but aside: see BtsUnit::put.
    const auto slot = reinterpret_cast<std::uintptr_t>(&ring_[(top_ + 1) & mask_]);
    const auto aside = reinterpret_cast<std::uintptr_t>(&aside_);
    auto* const at = reinterpret_cast<hw::LbrRegisters*>(aside ^ ((aside ^ slot) & (0 - wanted)));
    *at = {from.source() & from_mask_, (to & to_mask_) | to_flags_ | (cycles & to_cycles_) << 48,
           info_[static_cast<unsigned>(from.cls)] | (cycles & info_cycles_)};
    top_ += wanted;
    elapsed_ &= wanted - 1;
    left_ -= static_cast<std::int64_t>(taken & contains(kAllBranches, from.cls));
    if (left_ <= 0) [[unlikely]]
      take_specially(from, to, taken);
  }
  // Any other branch. One that ends at address 0 (see ExecutedBranch) is counted but not recorded:
  // a stack of user code has no branches into the kernel. Of those that come back it has, with from
  // 0, the ones that lead elsewhere than behind a system call: to a signal's handler, and from it
  // to where the signal came.
  void branch(const ExecutedBranch& b);

  // The records, newest first, as their registers hold them; at most `out.size()`. Returns how many
  // there are.
  std::size_t newest_first(std::span<hw::LbrRegisters> out) const;

  // The registers as MSRs see them. `n` is a record's number there; n < layout().depth.
  const hw::LbrRegisters& record(unsigned n) const { return ring_[slot(n)]; }
  hw::LbrRegisters& record(unsigned n) { return ring_[slot(n)]; }
  unsigned tos() const { return static_cast<unsigned>(top_ & mask_); }
  void set_tos(unsigned tos) { top_ = tos & mask_; }
  unsigned depth() const { return depth_; }
  // The record before the last interrupt or exception.
  const hw::LbrRegisters& last_interrupt() const { return last_interrupt_; }
  hw::LbrRegisters& last_interrupt() { return last_interrupt_; }

 private:
  static constexpr std::uint64_t kSlots = hw::LbrLayout::kMaxDepth;
  static constexpr std::uint64_t kMaxCycles = 0xffff;
  static constexpr std::int64_t kNever = INT64_MAX;

  unsigned slot(unsigned n) const {
    const std::uint64_t at = layout_.tos != 0 ? n : top_ - n;
    return static_cast<unsigned>(at & mask_);
  }
  bool keeps_calls() const { return call_stack_ && enabled_; }
  void learn_format();
  void learn_filter();
  void update();
  bool wants(const ExecutedBranch& b) const;
  void take_specially(const Block& from, std::uint64_t to, std::uint64_t taken);
  void push(const ExecutedBranch& b);
  void keep_call(const ExecutedBranch& b);
  void count_one();
  void overflow();

  InsnClassSet wanted_ = 0;  // recorded by take()
  std::uint64_t top_ = 0;    // of the newest record; counts up without end
  std::uint64_t mask_ = 0;
  std::uint64_t elapsed_ = 0;   // instructions since the last record
  std::int64_t left_ = kNever;  // branches until the counter overflows; 0: look at every branch
  // How the layout's format turns an unflagged branch into registers: see learn_format().
  std::uint64_t from_mask_ = ~0ull;
  std::uint64_t to_mask_ = ~0ull;
  std::uint64_t to_flags_ = 0;
  std::uint64_t to_cycles_ = 0;
  std::uint64_t info_cycles_ = 0;
  std::array<std::uint64_t, 32> info_{};  // by isa::InsnClass
  std::array<hw::LbrRegisters, kSlots> ring_{};
  hw::LbrRegisters aside_;

  // --- cold ---
  hw::LbrLayout layout_;
  hw::LbrRegisters last_interrupt_;
  std::uint64_t select_ = 0;
  std::uint16_t classes_ = 0;  // bit n: the filter passes hw::BranchClass n
  bool to_os_ = true;          // it passes branches that end in CPL 0
  bool to_user_ = true;        // or in others
  bool enabled_ = false;
  bool call_stack_ = false;
  unsigned depth_ = 0;
  std::int64_t countdown_ = kNever;  // as left_, while that is 0
  void (*handler_)(void* owner) = nullptr;
  void* owner_ = nullptr;
};

}  // namespace hodo::unit
