#include "plain_frames.h"

#include <algorithm>
#include <vector>

#include "arguments.h"
#include "hodo/isa/uses.h"

namespace hodo::text {
namespace {

constexpr std::uint8_t kStackPointer = 4;
constexpr std::uint8_t kFramePointer = 5;
constexpr std::uint16_t kWorkers = 0xf000;  // R12 to R15, which only optimised code works with

bool is_in_frame(const isa::Memory& memory) {
  return memory.base == kFramePointer && memory.index == isa::kNoRegister;
}
bool pushes(const isa::Uses& uses) {
  return uses.hands == isa::Uses::Hands::store && uses.memory.base == isa::kNoRegister &&
         !uses.memory.address;
}

class PlainFrame {
 public:
  PlainFrame(const TextMap& text, const Function& function) : text_(text), function_(function) {}

  std::optional<std::uint8_t> arguments() {
    at_ = function_.begin;
    if (!begins() || !keeps_arguments() || !goes_on()) return std::nullopt;
    return static_cast<std::uint8_t>((1u << slots_.size()) - 1);
  }

 private:
  // What lies at at_, if it is in the function.
  std::optional<isa::Uses> here() const {
    if (at_ >= function_.end || !text_.contains(at_)) return std::nullopt;
    return isa::decode_uses(text_.bytes(at_), at_);
  }
  template <class Is>
  bool passes(Is is) {
    const auto uses = here();
    if (!uses || uses->insn.cls != isa::InsnClass::other || !is(*uses)) return false;
    at_ += uses->insn.length;
    return true;
  }

  // [ENDBR64;] PUSH RBP; MOV RBP, RSP; [PUSH RBX;] [SUB RSP, NUMBER]
  bool begins() {
    using isa::Uses;
    passes([](const Uses& u) { return (u.values | u.pointers | u.writes) == 0; });
    const bool framed =
        passes([](const Uses& u) { return pushes(u) && u.from == kFramePointer; }) &&
        passes([](const Uses& u) {
          return u.hands == Uses::Hands::copy && u.to == kFramePointer && u.from == kStackPointer;
        });
    if (!framed) return false;
    passes([](const Uses& u) { return pushes(u); });
    passes([](const Uses& u) {
      constexpr std::uint16_t kOnlyStack = 1u << kStackPointer;
      return !pushes(u) && u.writes == kOnlyStack && u.values == kOnlyStack;
    });
    return true;
  }

  // In their order, those in vector registers between them.
  bool keeps_arguments() {
    using isa::Uses;
    const auto keeps = [&](const Uses& u) {
      constexpr std::uint16_t kOnlyFrame = 1u << kFramePointer;
      if (u.hands == Uses::Hands::nothing) {
        return u.pointers == kOnlyFrame && (u.values | u.writes) == 0;
      }
      if (u.hands != Uses::Hands::store || !is_in_frame(u.memory)) return false;
      if (slots_.size() == kRegisterArguments || u.from != kArgumentRegisters[slots_.size()]) {
        return false;
      }
      slots_.push_back(u.memory.displacement);
      return true;
    };
    while (passes(keeps)) {
    }
    return !slots_.empty();
  }

  // What it works with comes from the frame. Nobody else may know where an argument is kept, as a
  // function needs to tell that is given its address in optimised code, too.
  bool goes_on() {
    bool straight = true, reloads = false;
    std::uint16_t given = 0;
    for (const std::uint8_t reg : kArgumentRegisters)
      given |= static_cast<std::uint16_t>(1u << reg);
    while (at_ < function_.end) {
      if ((text_.marks(at_) & kInsn) == 0) {
        ++at_;
        continue;
      }
      const auto uses = here();
      if (!uses) return false;
      const auto used = static_cast<std::uint16_t>(uses->values | uses->pointers);
      if (((used | uses->writes) & kWorkers) != 0) return false;
      straight = straight && uses->insn.cls == isa::InsnClass::other;
      if (straight && (used & given) != 0) return false;
      given &= static_cast<std::uint16_t>(~uses->writes);
      const bool ours = is_in_frame(uses->memory) &&
                        std::ranges::find(slots_, uses->memory.displacement) != slots_.end();
      reloads = reloads || (ours && uses->hands == isa::Uses::Hands::load);
      if (tells_of_slot()) return false;
      at_ += uses->insn.length;
    }
    return reloads;
  }

  bool tells_of_slot() const {
    const auto move = isa::decode_move(text_.bytes(at_), at_);
    return move && move->what == isa::Move::What::address && is_in_frame(move->memory) &&
           std::ranges::find(slots_, move->memory.displacement) != slots_.end();
  }

  const TextMap& text_;
  const Function& function_;
  std::uint64_t at_ = 0;
  std::vector<std::int64_t> slots_;  // of the arguments, by distance from RBP
};

}  // namespace

std::optional<std::uint8_t> arguments_framed(const TextMap& text, const Function& function) {
  return PlainFrame(text, function).arguments();
}

}  // namespace hodo::text
