// A thread's stacks: addresses of return are small numbers; anything else is in the facts.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>

#include "shadow_stack.h"

namespace hodo::check::stacks {

inline constexpr std::uint64_t kImage = 0x1000;
inline constexpr std::uint64_t kHandler = 0x2000;
inline constexpr std::uint64_t kRestorer = 0x3000;
inline constexpr std::uint64_t kFunction = 0x4000;
inline constexpr std::uint64_t kPad = 0x5000;
// A switch to a stack that begins, and to one that was left.
inline constexpr PathFacts kBegin = kFromSwitch | kToFunction;
inline constexpr PathFacts kResume = kFromSwitch | kToReturnSite;

// Calls with the return addresses in `sites` land at kPad.
class Pads final : public Landings {
 public:
  std::set<std::uint64_t> sites, generated;
  std::set<std::uint64_t> nobodys;
  std::set<std::uint64_t> with_arguments, with_gaps;  // their return addresses
  bool whole = true;
  bool pushed = false;  // what a return goes to
  bool left = false;    // functions of labels have left stacks by themselves
  bool saw_all() const override { return whole; }
  bool is_behind_arguments(std::uint64_t return_address, std::uint64_t) const override {
    return with_arguments.contains(return_address);
  }
  bool is_behind_gap(std::uint64_t return_address, std::uint64_t) const override {
    return with_gaps.contains(return_address);
  }
  bool was_left(std::uint64_t) const override { return left; }
  bool is_nobodys(std::uint64_t label) const override { return nobodys.contains(label); }
  bool is_generated(std::uint64_t return_address) const override {
    return generated.contains(return_address);
  }
  bool goes_to_pushed() const override { return pushed; }
  // Functions begin at the thousands, and behind calls of theirs is all that is asked for.
  bool is_planted(std::uint64_t to, std::uint64_t distance) const override {
    return to % 1000 == distance;
  }
  bool lands(std::uint64_t return_address, std::uint64_t pad) const override {
    return pad == kPad && sites.contains(return_address);
  }
  // Of one function: the hundred that a label lies in.
  bool owns(std::uint64_t return_address, std::uint64_t label) const override {
    return return_address / 100 == label / 100;
  }
};

class Stack : public testing::Test {
 protected:
  Stack() { stack.enter(kImage, kToImage); }

  void calls(std::initializer_list<std::uint64_t> addresses) {
    for (const std::uint64_t a : addresses) stack.call(a);
  }
  // "": as it must be; else the grade.
  static std::string grade(const ShadowStack::Verdict& v) {
    return v ? std::string(name(v->grade)) : "";
  }
  std::string ret(std::uint64_t to, PathFacts facts = kToReturnSite) {
    return grade(stack.ret(to, facts));
  }
  std::string jump(std::uint64_t to, PathFacts facts) { return grade(stack.jump(to, facts, pads)); }
  void setjmp(std::uint64_t site) {
    stack.call(site);
    EXPECT_EQ(ret(site, kToReturnSite | kToSetjmp), "");
  }
  std::string longjmp(std::uint64_t site) {
    return jump(site, kFromSwitch | kFromLongjmp | kToReturnSite | kToSetjmp);
  }
  void interrupted(std::uint64_t at) {
    stack.leave(at, at, 0);
    EXPECT_EQ(grade(stack.enter(kHandler, kToFunction)), "");
  }
  std::string sigreturn(std::uint64_t to, PathFacts facts = 0) {
    stack.leave(kRestorer + 9, kRestorer + 7, kSigreturn);
    return grade(stack.enter(to, facts));
  }

  ShadowStack stack;
  Pads pads;
};

}  // namespace hodo::check::stacks
