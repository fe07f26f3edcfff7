#include "sweep.h"

#include <algorithm>

#include "endbr.h"
#include "hodo/isa/moves.h"
#include "hodo/isa/operands.h"
#include "pic.h"

namespace hodo::text {
namespace {

using isa::InsnClass;
using isa::StackUse;

constexpr std::uint8_t kPopf = 0x9d;
constexpr std::uint8_t kPopFrame = 0x5d;  // POP RBP
constexpr std::uint8_t kPop = 0x58;       // POP RAX, and so on to RDI
constexpr std::size_t kMoveOfWord = 10;   // REX.W B8+r, and the number

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
  Sweeper(TextMap& text, const Addressing& addressing, Sweep found)
      : text_(text),
        how_(addressing),
        narrow_(addressing.mode == isa::Mode::bits32),
        out_(std::move(found)) {}

  // From `begin` straight on until `end`. Behind a jump or return there may be data: what is read
  // there as instructions is certain only where a branch leads to it.
  void function(std::uint64_t begin, std::uint64_t end) {
    certain_ = (text_.marks(begin) & kStart) != 0;
    foreign_at_.clear();
    line(begin, end, false);
  }

  // From `begin` straight on, until `end`, or where another line is met if `joins`.
  void line(std::uint64_t begin, std::uint64_t end, bool joins) {
    if (joins) new_line();
    std::uint64_t at = begin;
    while (at < end) {
      const Marks known = text_.marks(at);
      certain_ = certain_ || (known & kAwaited) != 0;
      if (std::ranges::find(foreign_at_, at) != foreign_at_.end()) foreign_stack_ = true;
      if (joins && (known & (certain_ ? kFlow : kInsn)) != 0) return;
      const auto bytes = text_.bytes(at);
      const auto insn = isa::decode_operands(bytes, at, how_.mode);
      if (!insn || insn->insn.length > end - at) {
        if (joins) return;
        new_line();
        ++at;
        continue;
      }
      if (const auto next = certain_ ? 0 : awaited_inside(at, insn->insn.length); next != 0) {
        new_line();
        at = next;
        continue;
      }
      Marks marks = certain_ ? kInsn | kFlow : kInsn;
      if (std::ranges::equal(bytes.first(std::min<std::size_t>(4, bytes.size())),
                             narrow_ ? kEndbr32 : kEndbr64)) {
        marks |= kEndbr;
      }
      const InsnClass cls = insn->insn.cls;
      follow_stack(insn->stack);
      if (foreign_stack_ && bytes[0] == kPopFrame) foreign_frame_ = true;
      if (foreign_stack_ && (cls == InsnClass::ret || cls == InsnClass::ijmp)) {
        marks |= kSwitchesStack;
      }
      if (cls == InsnClass::ret) marks |= marks_of_return(*insn);
      if (bytes[0] == kPopf) restores_flags_ = true;
      if ((marks & kStoredTarget) != 0) out_.retpolines.push_back(at);
      text_.mark(at, marks);
      note(at, *insn);
      if (!narrow_) note_own_address(at, bytes);
      at += insn->insn.length;
      // A peek at the stack does not change what is on top of it.
      const bool peeks = narrow_ && insn->stack == StackUse::peek;
      if (!peeks || before_ != StackUse::store_top) before_ = insn->stack;
      peeked_ = peeks;
      if (cls == InsnClass::jmp || cls == InsnClass::cond) carry_stack(at, insn->insn.target);
      if (!ends_line(cls)) continue;
      if (joins) return;
      new_line();
      certain_ = false;
    }
  }

  // What branches lead to, and what is written down: in a row of pieces with data between, each may
  // be named by the one before only.
  void follow_targets() {
    while (!targets_.empty()) {
      const std::uint64_t target = targets_.back();
      targets_.pop_back();
      certain_ = false;
      if (const TextMap::Stretch* s = text_.find(target)) line(target, s->end(), true);
    }
  }

  void follow(std::uint64_t target) { targets_.push_back(target); }

  Sweep take() { return std::move(out_); }

 private:
  void follow_stack(StackUse use) {
    switch (use) {
      case StackUse::load:
        foreign_stack_ = true;
        break;
      case StackUse::load_frame:
        foreign_frame_ = true;
        break;
      // Who has loaded RSP and sets RBP then has the frame of that stack there (QuickThreads).
      case StackUse::copy_frame:
        foreign_frame_ = foreign_frame_ || foreign_stack_;
        break;
      case StackUse::set_frame:
        foreign_frame_ = foreign_stack_;
        break;
      case StackUse::frame:
        foreign_stack_ = foreign_frame_;
        break;
      default:
        break;
    }
  }

  // RET n behind MOV [ESP] takes what code that jumped here had pushed off the stack: the target
  // was no return address. So ends _dl_runtime_resolve of i386.
  Marks marks_of_return(const isa::Operands& insn) const {
    const Marks resumes = restores_flags_ ? kResumes : 0;
    return static_cast<Marks>(resumes | marks_of_target(insn));
  }

  Marks marks_of_target(const isa::Operands& insn) const {
    if (before_ == StackUse::push) return kPushedTarget;
    if (before_ != StackUse::store_top) return 0;
    if (narrow_ && insn.releases) return kPushedTarget;
    return peeked_ ? Marks{0} : Marks{kStoredTarget};
  }

  // The line goes on where its jump leads, if that is ahead.
  void carry_stack(std::uint64_t at, std::uint64_t target) {
    constexpr std::size_t kMost = 16;
    if (!foreign_stack_ || target <= at) return;
    std::erase_if(foreign_at_, [&](std::uint64_t passed) { return passed < at; });
    if (foreign_at_.size() < kMost) foreign_at_.push_back(target);
  }

  void new_line() {
    foreign_stack_ = false;
    foreign_frame_ = false;
    peeked_ = false;
    restores_flags_ = false;
    before_ = StackUse::other;
    own_in_ = isa::kNoRegister;
  }

  // 0: no certain branch leads into the middle of these bytes.
  std::uint64_t awaited_inside(std::uint64_t at, std::size_t length) const {
    for (std::size_t i = 1; i < length; ++i) {
      if ((text_.marks(at + i) & kAwaited) != 0) return at + i;
    }
    return 0;
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
        if (insn.insn.target == next) own_at_ = next;
        if (narrow_) note_asked(at);
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
    if (insn.address && !insn.computes && !indirect && !text_.contains(*insn.address)) {
      out_.accessed.push_back(*insn.address);
    }
    if (insn.immediate && how_.fixed) refer(at, *insn.immediate);
    // MOV REG, IMM64, which is added to the GOT's address.
    if (!narrow_ && how_.got && insn.immediate && insn.insn.length == kMoveOfWord) {
      refer(at, *how_.got + *insn.immediate);
    }
    if (insn.distance) note_distance(at, insn, indirect);
  }

  // CALL of the next instruction, which is POP REG: from there on code adds distances to that
  // address, for those of its labels (JavaScriptCore's interpreter).
  void note_own_address(std::uint64_t at, std::span<const std::uint8_t> bytes) {
    if (at == own_at_ && (bytes[0] & 0xf8) == kPop) {
      own_in_ = bytes[0] & 7;
      return;
    }
    if (own_in_ == isa::kNoRegister) return;
    const auto move = isa::decode_move(bytes, at);
    if (!move) return;
    const isa::Memory& memory = move->memory;
    if (move->what == isa::Move::What::address && memory.base == own_in_ &&
        memory.index == isa::kNoRegister) {
      refer(at, own_at_ + static_cast<std::uint64_t>(memory.displacement));
    }
    if ((move->changed >> own_in_ & 1) != 0) own_in_ = isa::kNoRegister;
  }

  // i386. That of the GOT itself says nothing.
  void note_asked(std::uint64_t at) {
    const auto address = asked_address(text_, at);
    if (address && address != how_.got) refer(at, *address);
  }

  // i386. A function's pointer in a structure lies at a distance that is positive; so may slots,
  // where there is one GOT for all, but then only stubs are known to go through one.
  void note_distance(std::uint64_t at, const isa::Operands& insn, bool indirect) {
    if (insn.based && !how_.got) return;
    const std::uint64_t base = insn.based ? *how_.got : 0;
    const std::uint64_t address =
        (base + static_cast<std::uint64_t>(std::int64_t{*insn.distance})) & 0xffffffff;
    if (indirect && !insn.indexed && (*insn.distance < 0 || (text_.marks(at) & kPlt) != 0)) {
      out_.through_slots.push_back({at, address});
    }
    if (insn.computes && insn.based) {
      refer(at, address);
    } else if (insn.indexed && !text_.contains(address)) {
      out_.references.push_back({at, address});  // a table is read
    }
  }

  void refer(std::uint64_t from, std::uint64_t address) {
    if (!text_.mark(address, kTaken | kNamed)) {
      out_.references.push_back({from, address});
      return;
    }
    out_.labels.push_back({from, address});
    targets_.push_back(address);
  }

  void lead(std::uint64_t target) {
    const Marks marks = certain_ ? kLeader | kAwaited : kLeader;
    if (text_.mark(target, marks)) targets_.push_back(target);
  }

  TextMap& text_;
  Addressing how_;
  bool narrow_;
  // Of the straight line that is gone along; the start of another function does not end it.
  bool certain_ = false;                   // as kFlow
  bool foreign_stack_ = false;             // RSP was loaded from elsewhere
  bool foreign_frame_ = false;             // and RBP from there
  std::vector<std::uint64_t> foreign_at_;  // where jumps of the function led with foreign_stack_
  bool restores_flags_ = false;            // by POPF
  StackUse before_ = StackUse::other;      // of the instruction before, or before a peek
  bool peeked_ = false;
  std::uint64_t own_at_ = 0;                // behind the last CALL of the next instruction
  std::uint8_t own_in_ = isa::kNoRegister;  // holds that address
  Sweep out_;
  std::vector<std::uint64_t> targets_;
};

}  // namespace

Sweep sweep(TextMap& text, const std::vector<std::uint64_t>& starts,
            const std::vector<std::uint64_t>& taken, const Addressing& addressing) {
  Sweep begun;
  if (addressing.mode == isa::Mode::bits32) {
    if (addressing.got) begun.table_bases.push_back(*addressing.got);
    if (addressing.fixed) begun.table_bases.push_back(0);
  }
  Sweeper sweeper(text, addressing, std::move(begun));
  for (const TextMap::Stretch& s : text.stretches()) {
    auto next = std::ranges::upper_bound(starts, s.begin);
    for (std::uint64_t at = s.begin; at < s.end();) {
      const std::uint64_t end = next != starts.end() && *next < s.end() ? *next : s.end();
      sweeper.function(at, end);
      at = end;
      if (next != starts.end()) ++next;
    }
  }
  for (const std::uint64_t address : taken) sweeper.follow(address);
  sweeper.follow_targets();
  return sweeper.take();
}

void sweep_on(TextMap& text, const std::vector<std::uint64_t>& targets,
              const Addressing& addressing, Sweep& found) {
  Sweeper sweeper(text, addressing, std::move(found));
  for (const std::uint64_t target : targets) sweeper.follow(target);
  sweeper.follow_targets();
  found = sweeper.take();
}

}  // namespace hodo::text
