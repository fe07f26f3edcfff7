#include "sweep.h"

#include <algorithm>

#include "hodo/isa/operands.h"

namespace hodo::check {
namespace {

using isa::InsnClass;
using isa::StackUse;

constexpr std::uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

bool ends_line(InsnClass cls) {
  switch (cls) {
    case InsnClass::jmp:
    case InsnClass::ijmp:
    case InsnClass::ret:
    case InsnClass::iret:
    case InsnClass::sysret:
    case InsnClass::far_jmp:
    case InsnClass::far_ret:
      return true;
    default:
      return false;
  }
}

class Sweeper {
 public:
  Sweeper(TextMap& text, bool fixed) : text_(text), fixed_(fixed) {}

  // From `begin` straight on, until `end`, or where another line is met if `joins`.
  void line(std::uint64_t begin, std::uint64_t end, bool joins) {
    if (joins) new_line();
    std::uint64_t at = begin;
    while (at < end) {
      if (joins && (text_.marks(at) & kInsn) != 0) return;
      const auto bytes = text_.bytes(at);
      const auto insn = isa::decode_operands(bytes, at);
      if (!insn || insn->insn.length > end - at) {
        if (joins) return;
        new_line();
        ++at;
        continue;
      }
      Marks marks = kInsn;
      if (std::ranges::equal(bytes.first(std::min<std::size_t>(4, bytes.size())), kEndbr64)) {
        marks |= kEndbr;
      }
      const InsnClass cls = insn->insn.cls;
      if (insn->stack == StackUse::load) foreign_stack_ = true;
      if (insn->stack == StackUse::frame) foreign_stack_ = false;
      if (foreign_stack_ && (cls == InsnClass::ret || cls == InsnClass::ijmp)) {
        marks |= kSwitchesStack;
      }
      if (cls == InsnClass::ret && before_ == StackUse::push) marks |= kPushedTarget;
      if (cls == InsnClass::ret && before_ == StackUse::store_top) marks |= kStoredTarget;
      text_.mark(at, marks);
      note(at, *insn);
      at += insn->insn.length;
      before_ = insn->stack;
      if (!ends_line(cls)) continue;
      if (joins) return;
      new_line();
    }
  }

  void follow_targets() {
    while (!targets_.empty()) {
      const std::uint64_t target = targets_.back();
      targets_.pop_back();
      if (const TextMap::Stretch* s = text_.find(target)) line(target, s->end(), true);
    }
  }

  Sweep take() { return std::move(out_); }

 private:
  void new_line() {
    foreign_stack_ = false;
    before_ = StackUse::other;
  }

  void note(std::uint64_t at, const isa::Operands& insn) {
    const std::uint64_t next = at + insn.insn.length;
    switch (insn.insn.cls) {
      case InsnClass::cond:
        text_.mark(next, kLeader);
        [[fallthrough]];
      case InsnClass::jmp:
        out_.jumps.push_back({at, insn.insn.target});
        lead(insn.insn.target);
        break;
      case InsnClass::call:
        text_.mark(next, kReturnSite);
        if (insn.insn.target != next) lead(insn.insn.target);
        break;
      case InsnClass::icall:
        text_.mark(next, kReturnSite);
        break;
      case InsnClass::ijmp:
        out_.indirect_jumps.push_back(at);
        break;
      default:
        break;
    }
    const bool indirect = insn.insn.cls == InsnClass::icall || insn.insn.cls == InsnClass::ijmp;
    if (indirect && insn.address) out_.through_slots.push_back({at, *insn.address});
    if (insn.address && insn.computes) refer(at, *insn.address);
    if (insn.immediate && fixed_) refer(at, *insn.immediate);
  }

  void refer(std::uint64_t from, std::uint64_t address) {
    (text_.mark(address, kTaken) ? out_.labels : out_.references).push_back({from, address});
  }

  void lead(std::uint64_t target) {
    if (text_.mark(target, kLeader)) targets_.push_back(target);
  }

  TextMap& text_;
  bool fixed_;
  // Of the straight line that is gone along; the start of another function does not end it.
  bool foreign_stack_ = false;  // RSP was loaded from elsewhere
  StackUse before_ = StackUse::other;
  Sweep out_;
  std::vector<std::uint64_t> targets_;
};

}  // namespace

Sweep sweep(TextMap& text, const std::vector<std::uint64_t>& starts, bool fixed) {
  Sweeper sweeper(text, fixed);
  for (const TextMap::Stretch& s : text.stretches()) {
    auto next = std::ranges::upper_bound(starts, s.begin);
    for (std::uint64_t at = s.begin; at < s.end();) {
      const std::uint64_t end = next != starts.end() && *next < s.end() ? *next : s.end();
      sweeper.line(at, end, false);
      at = end;
      if (next != starts.end()) ++next;
    }
  }
  sweeper.follow_targets();
  return sweeper.take();
}

}  // namespace hodo::check
