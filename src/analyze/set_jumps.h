// Which of a thread's open calls have called setjmp, and where: to these longjmp goes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hodo/analyze/open_calls.h"

namespace hodo::analyze {

// A call's return address is behind the instruction, whose length is not known here.
constexpr bool returns_behind(std::uint64_t address, std::uint64_t site) {
  constexpr std::uint64_t kLongestInstruction = 15;
  return site != 0 && address - site <= kLongestInstruction;
}

// `is_open` says of a level whether the call there is one that add() was told of: calls end without
// a word to this.
class SetJumps {
 public:
  // Of more the innermost: who goes back goes to one of the last, as a rule.
  static constexpr std::size_t kMost = 64;

  template <class IsOpen>
  void add(const SetJump& jump, IsOpen is_open) {
    std::erase_if(all_, [&](const SetJump& one) {
      return one.level > jump.level || !is_open(one.level) || one == jump;
    });
    if (all_.size() == kMost) all_.erase(all_.begin());
    all_.push_back(jump);
  }
  // The level of the call that what goes on at `to` has come back to; nullopt: no call of setjmp
  // lies before it.
  template <class IsOpen>
  std::optional<std::uint32_t> innermost(std::uint64_t to, IsOpen is_open) const {
    const auto found = std::find_if(all_.rbegin(), all_.rend(), [&](const SetJump& one) {
      return returns_behind(to, one.site) && is_open(one.level);
    });
    return found == all_.rend() ? std::nullopt : std::optional(found->level);
  }
  // Outermost first.
  template <class IsOpen>
  std::vector<SetJump> open(IsOpen is_open) const {
    std::vector<SetJump> out;
    std::ranges::copy_if(all_, std::back_inserter(out),
                         [&](const SetJump& one) { return is_open(one.level); });
    return out;
  }

 private:
  std::vector<SetJump> all_;  // by level
};

}  // namespace hodo::analyze
