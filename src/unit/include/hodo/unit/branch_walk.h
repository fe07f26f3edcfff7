// From executed blocks to executed branches, for a unit that records branches one by one (BtsUnit,
// LbrUnit). It is told what PtUnit is told, by the same calls, and sees user code only: execution
// that leaves the program goes to address 0 and comes back from there.
//
// Hot path: enter(), once per executed block. Plain data, as PtUnit is, if Unit is.
#pragma once

#include <cstdint>

#include "hodo/isa/insn.h"
#include "hodo/unit/block.h"
#include "hodo/unit/executed_branch.h"

namespace hodo::unit {

// Asked when block b is no successor of the last one, or is flagged as a signal handler: was it
// reached by a signal? If so, gives the interrupted IP and whether the instruction there raised it.
struct SignalQuery {
  bool (*interrupted)(void* owner, const Block& b, std::uint64_t& ip, bool& faulted) = nullptr;
  void* owner = nullptr;
};

// Unit has
//   void take(const Block& from, std::uint64_t to, std::uint64_t taken): the last instruction of
//       `from` went to `to`, where it was expected to go; `taken` is 1 unless a conditional branch
//       fell through. The unit looks at from.cls, which may be no branch.
//   void branch(const ExecutedBranch&): every other branch.
template <class Unit>
class BranchWalk {
 public:
  Unit unit;

  // Blocks count from here on; the first one is entered from address 0.
  void start(const SignalQuery& signals) {
    signals_ = signals;
    state_ = State::outside;
    last_ = &kNoBlock;
  }
  // No more blocks.
  void stop() {
    state_ = State::off;
    last_ = &kNoBlock;
  }

  // Execution reaches block b, which must stay valid until the next event.
  [[gnu::always_inline]] void enter(const Block* b) {
    const Block* from = last_;
    last_ = b;
    const std::uint64_t ip = b->start;
    // As in PtUnit::enter: without the asm statements each comparison becomes a jump that is as
    // hard to predict as the program's own.
    std::uint64_t taken = ip == from->taken ? 1 : 0;
    asm("" : "+r"(taken));
    std::uint64_t follows = ip == from->other ? 1 : 0;
    asm("" : "+r"(follows));
    if ((taken | follows) != 0) [[likely]] {
      unit.take(*from, ip, taken);
    } else {
      enter_unpredicted(from, b);
    }
  }

  // The same for a block that the translator made of a single instruction in order to step over it.
  // If it lies inside the last block, that one was cut short there.
  void enter_stepped(const Block* b) {
    if (state_ == State::inside && last_->contains(b->start) && b->end() < last_->end()) {
      last_ = b;
      return;
    }
    enter(b);
  }

  // Execution reaches block b, which is not to be recorded: the branch there is the last one.
  void leave_filter(const Block* b) {
    if (state_ != State::inside) return;
    const Block* from = last_;
    std::uint64_t at = b->start;
    bool faulted = false;
    if (signalled(*from, *b, at, faulted)) return interrupt(at, faulted);
    resolve(*from, b->start);
    leave();
  }

  // The block last entered ended in an instruction that left the program: a system call.
  void leave_context() {
    if (state_ != State::inside) return;
    unit.branch({.from = last_->source(), .insns = last_->insns, .to_cpl = 0});
    const std::uint64_t behind = last_->end();
    leave();
    behind_call_ = behind;
  }

  // An interrupt, fault or signal took control at `ip`, the next instruction that would have run
  // (`faulted`: which itself raised it).
  void interrupt(std::uint64_t ip, bool faulted) {
    if (state_ != State::inside) return;
    const Block& from = *last_;
    const bool executed = !(faulted && from.contains(ip));
    if (executed && (from.cls == isa::InsnClass::syscall || from.cls == isa::InsnClass::int_)) {
      return leave_context();
    }
    if (executed) resolve(from, ip);
    unit.branch({.from = ip, .to_cpl = 0, .event = true});
    leave();
  }

  bool inside() const { return state_ == State::inside; }
  // The block that is executing; null while execution is outside.
  const Block* current() const { return state_ == State::inside ? last_ : nullptr; }
  // Which is not null: it lies here from now on.
  void move_current(const Block* to) { last_ = to; }
  // Jumps that no branch, signal or fault explained; recorded as coming from address 0.
  std::uint64_t unexplained() const { return unexplained_; }

 private:
  enum class State : std::uint8_t { off, outside, inside };
  // Stands for "outside": no block follows it as predicted.
  static constexpr Block kNoBlock{};

  void leave() {
    state_ = State::outside;
    last_ = &kNoBlock;
    behind_call_ = 0;
  }

  // Indirect branches come here, and everything while execution is outside.
  [[gnu::noinline]] void enter_unpredicted(const Block* from, const Block* b) {
    using isa::InsnClass;
    if (!(b->flags & Block::kHandler) &&
        (from->cls == InsnClass::ret || from->cls == InsnClass::ijmp ||
         from->cls == InsnClass::icall)) {
      return take_branch(*from, b->start);
    }
    if (state_ == State::inside) return enter_by_event(*from, b);
    if (state_ == State::off) {
      last_ = &kNoBlock;
      return;
    }
    state_ = State::inside;
    unit.branch({.to = b->start, .from_cpl = 0, .resumes = b->start == behind_call_});
  }

  void enter_by_event(const Block& from, const Block* b) {
    std::uint64_t at = b->start;
    bool faulted = false;
    if (!signalled(from, *b, at, faulted)) return resolve(from, b->start);
    last_ = &from;
    interrupt(at, faulted);
    last_ = b;
    state_ = State::inside;
    unit.branch({.to = b->start, .from_cpl = 0});
  }

  bool signalled(const Block& from, const Block& b, std::uint64_t& ip, bool& faulted) const {
    if (signals_.interrupted == nullptr) return false;
    const bool predicted = b.start == from.taken || b.start == from.other;
    if (predicted && !(b.flags & Block::kHandler)) return false;
    return signals_.interrupted(signals_.owner, b, ip, faulted);
  }

  void resolve(const Block& from, std::uint64_t to) {
    using isa::InsnClass;
    const bool taken = to == from.taken;
    if (taken || to == from.other) return unit.take(from, to, taken ? 1 : 0);
    if (from.cls > InsnClass::call || from.cls == InsnClass::ijmp) return take_branch(from, to);
    // Cut short inside the block and continued there: no branch was executed.
    if (from.contains(to)) return;
    ++unexplained_;
    unit.branch({.to = to});
  }

  void take_branch(const Block& from, std::uint64_t to) {
    unit.branch(
        {.from = from.source(), .to = to, .cls = branch_class(from.cls), .insns = from.insns});
  }

  const Block* last_ = &kNoBlock;
  SignalQuery signals_;
  std::uint64_t unexplained_ = 0;
  std::uint64_t behind_call_ = 0;  // outside: behind the system call that left; 0: none did
  State state_ = State::off;
};

}  // namespace hodo::unit
