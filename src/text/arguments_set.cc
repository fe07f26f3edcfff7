#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "arguments.h"
#include "hodo/isa/uses.h"
#include "plain_frames.h"

namespace hodo::text {
namespace {

using isa::InsnClass;
using isa::Uses;

// What may be in the registers: bits 0 to 5 an argument, and
using Set = std::uint8_t;
constexpr Set kAll = 0x3f;
constexpr Set kReturned = 1 << 6;     // in RDX the second half of what a call returned
constexpr Set kRaxIsNumber = 1 << 7;  // in RAX a number

constexpr std::uint64_t kMostFlowBytes = std::uint64_t{1} << 14;
constexpr unsigned kMostFlowRounds = 64;

Set arguments_in(std::uint16_t registers) {
  unsigned out = 0;
  for (std::size_t i = 0; i < kArgumentRegisters.size(); ++i)
    out |= (registers >> kArgumentRegisters[i] & 1) << i;
  return static_cast<Set>(out);
}

class Flow {
 public:
  Flow(const TextMap& text, std::span<const Function> parts,
       const std::function<bool(std::uint64_t)>& leaves)
      : text_(text), framed_(parts.size() == 1 ? arguments_framed(text, parts[0]) : std::nullopt) {
    for (const Function& part : parts) read(part, leaves);
    link(parts);
  }

  // nullopt: nothing leads there.
  std::optional<Set> before(std::uint64_t call) {
    follow();
    const std::size_t at = find(call);
    if (at == kNone || !steps_[at].reached) return std::nullopt;
    return steps_[at].set;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Step {
    std::uint64_t address = 0;
    std::uint64_t next = 0;    // 0: does not go on
    std::uint64_t target = 0;  // of a direct jump; 0: none
    Set keeps = 0xff, sets = 0;
    bool fills = false;  // NOP or INT, as lies between blocks
    std::size_t next_at = kNone, target_at = kNone;
    bool reached = false;
    Set set = 0;
  };

  void read(const Function& part, const std::function<bool(std::uint64_t)>& leaves) {
    for (std::uint64_t at = part.begin; at < part.end; ++at) {
      if ((text_.marks(at) & kInsn) == 0) continue;
      const auto uses = isa::decode_uses(text_.bytes(at), at);
      if (!uses) continue;
      steps_.push_back(step_of(at, *uses, leaves));
    }
  }

  Step step_of(std::uint64_t at, const Uses& uses,
               const std::function<bool(std::uint64_t)>& leaves) const {
    Step out{.address = at, .next = at + uses.insn.length};
    out.fills =
        uses.insn.cls == InsnClass::int_ ||
        (uses.insn.cls == InsnClass::other && (uses.values | uses.pointers | uses.writes) == 0);
    switch (uses.insn.cls) {
      case InsnClass::call:
      case InsnClass::icall:
        // GCC keeps registers over calls of functions that it has seen (-fipa-ra).
        // Without optimisation it keeps none, and uses no second half before it was stored.
        out.keeps = framed_ || leaves(at) ? 0 : kAll;
        out.sets = framed_ ? 0 : kReturned;
        return out;
      case InsnClass::cond:
        out.target = uses.insn.target;
        break;
      case InsnClass::jmp:
        out.target = uses.insn.target;
        out.next = 0;
        break;
      case InsnClass::ijmp:
      case InsnClass::ret:
      case InsnClass::iret:
      case InsnClass::far_jmp:
      case InsnClass::far_ret:
        out.next = 0;
        break;
      default:
        break;
    }
    out.sets = arguments_in(uses.writes);
    if ((uses.writes & 1) != 0) {
      out.keeps = static_cast<Set>(out.keeps & ~kRaxIsNumber);
      if (uses.constant) out.sets |= kRaxIsNumber;
    }
    return out;
  }

  std::size_t find(std::uint64_t address) const {
    const auto found = std::ranges::lower_bound(steps_, address, {}, &Step::address);
    if (found == steps_.end() || found->address != address) return kNone;
    return static_cast<std::size_t>(found - steps_.begin());
  }

  // Where something leads from elsewhere, all may be set.
  void link(std::span<const Function> parts) {
    std::vector<bool> known(steps_.size());
    for (Step& step : steps_) {
      if (step.next != 0) step.next_at = find(step.next);
      if (step.target != 0) step.target_at = find(step.target);
      if (step.target_at != kNone) known[step.target_at] = true;
      const bool goes_two_ways = step.target != 0 && step.next != 0;
      if (goes_two_ways && step.next_at != kNone) known[step.next_at] = true;
    }
    constexpr Marks kEntered = kStart | kTaken | kTableTarget | kLanding;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      Step& step = steps_[i];
      const Marks marks = text_.marks(step.address);
      const bool begins = std::ranges::find(parts, step.address, &Function::begin) != parts.end();
      if (begins || (marks & kEntered) != 0 || ((marks & kLeader) != 0 && !known[i])) enter(step);
      if (framed_ && begins) step.set = *framed_;
    }
  }

  static void enter(Step& step) {
    step.reached = true;
    step.set = kAll | kReturned;
  }

  // To code that nothing was seen to lead to, as by a table that is not known, something does.
  bool enters_unreached() {
    const auto found =
        std::ranges::find_if(steps_, [](const Step& step) { return !step.reached && !step.fills; });
    if (found == steps_.end()) return false;
    enter(*found);
    return true;
  }

  void follow() {
    bool news = true;
    const auto arrive = [&](std::size_t at, Set set) {
      if (at == kNone) return;
      Step& step = steps_[at];
      if (step.reached && (set & ~step.set) == 0) return;
      step.reached = news = true;
      step.set |= set;
    };
    for (unsigned round = 0; news && round < kMostFlowRounds; ++round) {
      news = false;
      for (Step& step : steps_) {
        if (!step.reached) continue;
        const auto behind = static_cast<Set>((step.set & step.keeps) | step.sets);
        arrive(step.next_at, behind);
        arrive(step.target_at, behind);
      }
      news = news || enters_unreached();
    }
    if (news) steps_.clear();
  }

  const TextMap& text_;
  std::optional<Set> framed_;  // what a function that was not optimised is given
  std::vector<Step> steps_;    // by address
};

}  // namespace

ArgumentsSet arguments_set(const TextMap& text, std::span<const Function> parts, std::uint64_t call,
                           const std::function<bool(std::uint64_t)>& leaves) {
  std::uint64_t size = 0;
  for (const Function& part : parts) size += part.end - part.begin;
  if (size > kMostFlowBytes) return {};
  const auto set = Flow(text, parts, leaves).before(call);
  if (!set) return {};
  return {.set = static_cast<Set>(*set & kAll),
          .returned = (*set & kReturned) != 0,
          .unprototyped = (*set & kRaxIsNumber) != 0};
}

}  // namespace hodo::text
