// Several stacks of one thread, in turn.
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "stack_fixture.h"

namespace hodo::check::stacks {
namespace {

TEST_F(Stack, CoroutinesAreResumedWhereTheyWereLeft) {
  calls({1});
  stack.call(10);  // swapcontext in the scheduler
  EXPECT_EQ(ret(kFunction, kBegin), "");
  calls({20, 21});
  stack.call(11);  // swapcontext in the coroutine
  EXPECT_EQ(ret(10, kResume), "");
  stack.call(12);
  EXPECT_EQ(ret(11, kResume), "");
  EXPECT_EQ(ret(21), "");
  EXPECT_EQ(ret(20), "");
  // The coroutine's function ends in what makecontext put below it.
  EXPECT_EQ(ret(0x6000, kToFunction), "");
  EXPECT_EQ(ret(12, kResume), "");
  EXPECT_EQ(ret(1), "");
}

// An exchanged stack that returns to a sigreturn makes up what the kernel would have saved.
TEST_F(Stack, ASwitchToASigreturnNeedsAHandler) {
  constexpr PathFacts kToRestorer = kFromSwitch | kToFunction | kToSigreturn;
  const auto switches = [&](PathFacts facts) { return grade(stack.ret(kRestorer, facts, &pads)); };
  calls({1, 2});
  const ShadowStack before = stack;
  EXPECT_EQ(switches(kToRestorer), "impossible");
  stack = before;
  EXPECT_EQ(switches(kToRestorer | kShared), "") << "another thread may have left it";
  stack = before;
  pads.whole = false;
  EXPECT_EQ(switches(kToRestorer), "") << "unseen";
  pads.whole = true;
  stack = before;
  interrupted(77);
  calls({3});
  EXPECT_EQ(switches(kToRestorer), "") << "a handler is open";
}

// setcontext() with what the kernel gave a handler: at once, and from another stack.
TEST_F(Stack, AHandlersContextLeadsToWhatWasInterrupted) {
  calls({1, 2});
  interrupted(77);
  calls({3});
  const ShadowStack before = stack;
  EXPECT_EQ(ret(78, kFromSwitch), "impossible");
  stack = before;
  EXPECT_EQ(ret(77, kFromSwitch), "");
  EXPECT_EQ(ret(2), "");
  stack = before;
  stack.call(10);
  EXPECT_EQ(ret(kFunction, kBegin), "");
  calls({20});
  EXPECT_EQ(ret(77, kFromSwitch), "");
  EXPECT_EQ(ret(2), "");
  EXPECT_EQ(ret(1), "");
}

// By an exchange of the context that it was given, which tells nothing where both were interrupted
// at one place.
TEST_F(Stack, AHandlerTakesTurnsBetweenThreads) {
  calls({1, 2});
  interrupted(77);
  EXPECT_EQ(sigreturn(kFunction, kToFunction), "");  // the first begins
  calls({20});
  interrupted(25);
  EXPECT_EQ(sigreturn(kFunction, kToFunction), "");  // and the second
  calls({30});
  interrupted(35);
  const ShadowStack before = stack;
  EXPECT_EQ(sigreturn(26), "unexplained");
  stack = before;
  EXPECT_EQ(sigreturn(25), "");
  EXPECT_EQ(ret(20), "");
  interrupted(26);
  EXPECT_EQ(sigreturn(35), "");
  EXPECT_EQ(ret(30), "");
  interrupted(36);
  EXPECT_EQ(sigreturn(77), "");
  EXPECT_EQ(ret(2), "");
  EXPECT_EQ(ret(1), "");
}

// Whose last call exchanges contexts, by a jump: what it is left for comes back to its own end.
TEST_F(Stack, AHandlerThatEndsWithASwitchEndsWhereAnotherLeadsBackToIt) {
  constexpr PathFacts kToEnd = kFromSwitch | kToFunction | kToSigreturn;
  calls({1, 10});
  EXPECT_EQ(ret(kFunction, kBegin), "");
  calls({20, 21});
  interrupted(77);
  EXPECT_EQ(ret(kFunction, kBegin), "");  // the second begins
  calls({30, 31});
  const ShadowStack second = stack;
  interrupted(88);
  EXPECT_EQ(ret(kRestorer, kToEnd), "");
  EXPECT_EQ(sigreturn(77), "");
  const ShadowStack before = stack;
  EXPECT_EQ(ret(31), "impossible") << "the other's";
  stack = before;
  EXPECT_EQ(ret(21), "");
  EXPECT_EQ(ret(20), "");

  // At one place, returns alone tell.
  for (const auto& [last, below] : {std::pair{21, 20}, std::pair{31, 30}}) {
    stack = second;
    interrupted(77);
    EXPECT_EQ(ret(kRestorer, kToEnd), "");
    EXPECT_EQ(sigreturn(77), "");
    EXPECT_EQ(ret(last), "");
    EXPECT_EQ(ret(below), "");
  }

  stack = second;
  interrupted(88);
  EXPECT_EQ(ret(kRestorer, kToFunction | kToSigreturn), "");
  EXPECT_EQ(sigreturn(77), "unexplained") << "nothing was exchanged";

  stack = second;
  interrupted(88);
  EXPECT_EQ(ret(kRestorer, kToEnd), "");
  EXPECT_EQ(sigreturn(99), "unexplained") << "nobody was interrupted there";
}

TEST_F(Stack, CoroutinesLeftAtOnePlaceAreToldApartLater) {
  calls({1});
  for (const std::uint64_t own : {std::uint64_t{20}, std::uint64_t{30}}) {
    stack.call(10);
    EXPECT_EQ(ret(kFunction, kBegin), "");
    calls({own});
    stack.call(11);
    EXPECT_EQ(ret(10, kResume), "");
  }
  // The second one first, though the first has waited longer.
  stack.call(10);
  EXPECT_EQ(ret(11, kResume), "");
  EXPECT_EQ(ret(30), "");
}

TEST_F(Stack, ACoroutineLeftAtOnePlaceMayLieBelowAnother) {
  calls({1, 20});
  stack.call(10);
  EXPECT_EQ(ret(kFunction, kBegin), "");
  calls({30});
  stack.call(10);
  // The next begins by a jump, on top of what is open.
  EXPECT_EQ(jump(kFunction, kBegin), "");
  calls({40});
  stack.call(10);
  // Taken for the first stack, which has waited longer; it is the one below.
  EXPECT_EQ(jump(10, kResume), "");
  EXPECT_EQ(ret(30), "");
}

// Each began on top of the one before and is left at the same place, as contexts of SimGrid's.
TEST_F(Stack, BehindAWrongGuessAllStacksAreGuesses) {
  calls({1});
  for (const std::uint64_t own : {std::uint64_t{20}, std::uint64_t{30}}) {
    stack.call(10);
    EXPECT_EQ(jump(kFunction, kBegin), "");
    calls({own});
  }
  stack.call(10);
  // Taken for the second of the three. It is the first, and what was known of both is lost.
  EXPECT_EQ(jump(10, kResume), "");
  EXPECT_EQ(ret(1), "");
  stack.call(10);
  EXPECT_EQ(jump(10, kResume), "");
  ShadowStack other = stack;
  EXPECT_EQ(ret(20), "");
  EXPECT_EQ(grade(other.ret(20, 0)), "impossible");
}

TEST_F(Stack, AFunctionOnTopOfAnotherStackReturnsToWhereThatWasLeft) {
  calls({1});
  stack.call(10);
  EXPECT_EQ(ret(kFunction, kBegin), "");
  calls({20});
  stack.call(11);
  EXPECT_EQ(ret(10, kResume), "");
  stack.call(12);
  EXPECT_EQ(ret(11, kResume), "");
  EXPECT_EQ(jump(kFunction, kBegin), "");
  EXPECT_EQ(ret(12), "");
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, AFunctionOnTopOfAnotherStackHasToReturnToWhereThatWasLeft) {
  calls({1});
  stack.call(10);
  EXPECT_EQ(ret(kFunction, kBegin), "");
  calls({20});
  EXPECT_EQ(jump(kFunction, kBegin), "");
  EXPECT_EQ(ret(13), "impossible");
}

// Boost's fibers are all left in context::resume.
TEST_F(Stack, AFunctionOnTopOfAStackThatWasLeftAtTheSamePlaceReturnsToEither) {
  calls({1});
  stack.call(10);
  EXPECT_EQ(ret(kFunction, kBegin), "");
  calls({20});
  stack.call(10);
  EXPECT_EQ(jump(kFunction, kBegin), "");
  for (const auto& [next, expected] : {std::pair(1, ""), {20, ""}, {30, "impossible"}}) {
    for (const bool followed : {false, true}) {
      ShadowStack other = stack;
      EXPECT_FALSE(other.follow(std::array<std::uint64_t, 1>{10}, {}));
      EXPECT_EQ(grade(other.ret(10, kToReturnSite)), "");
      const auto to = static_cast<std::uint64_t>(next);
      if (followed && *expected == 0 && other.follow(std::array{to}, {})) continue;
      EXPECT_EQ(grade(other.ret(to, kToReturnSite)), expected) << next;
    }
  }
}

TEST_F(Stack, AFunctionOnTopOfAnotherStackMayThrowThere) {
  pads.sites = {20};
  calls({1});
  stack.call(10);
  EXPECT_EQ(ret(kFunction, kBegin), "");
  calls({20});
  stack.call(11);
  EXPECT_EQ(ret(10, kResume), "");
  stack.call(12);
  EXPECT_EQ(jump(kFunction, kBegin), "");
  calls({30});
  EXPECT_EQ(jump(kPad, kFromSwitch | kToLanding), "");
  stack.call(13);
  EXPECT_EQ(ret(12, kResume), "");
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, WhatMayHaveStayedOnItsStackMayHaveLeftIt) {
  calls({1, 20, 21});
  stack.call(10);
  EXPECT_EQ(ret(10, kFromSwitch | kToReturnSite), "");
  EXPECT_EQ(ret(22), "impossible");
  stack.enter(kImage, kToImage);
  calls({1, 20, 21});
  stack.call(10);
  EXPECT_EQ(ret(10, kFromSwitch | kMayStay | kToReturnSite), "");
  EXPECT_EQ(ret(22), "");
}

TEST_F(Stack, ALabelEndsWhatIsKnownOfAStackThatIsNot) {
  stack.lose();
  calls({500, 600});
  EXPECT_EQ(jump(710, kFromSwitch | kToLabel), "");
  calls({720});
  EXPECT_EQ(ret(720), "");
  EXPECT_EQ(ret(30), "");
  EXPECT_EQ(ret(40, 0), "impossible");
}

TEST_F(Stack, ASwitchToWhereNoStackWasLeftIsImpossible) {
  calls({1, 2});
  EXPECT_EQ(ret(99, kFromSwitch), "impossible");
}

TEST_F(Stack, NoStackBeginsWhereNobodyCanHaveLeftIt) {
  calls({1, 2});
  for (const int target :
       {kToFunction | kToSensitive, kToFunction | kToUntaken, kToReturnSite | kToUncalled}) {
    ShadowStack fresh = stack;
    const auto facts = static_cast<PathFacts>(kFromSwitch | target);
    EXPECT_EQ(grade(fresh.ret(99, facts)), "impossible") << target;
    EXPECT_EQ(grade(fresh.ret(98, kToReturnSite)), "impossible") << "nor what goes on from there";
    if ((target & kToSensitive) != 0) continue;  // of which a rule of its own speaks
    fresh = stack;
    EXPECT_EQ(grade(fresh.jump(99, facts, pads)), "impossible") << target;
  }
  EXPECT_EQ(ret(kFunction, kFromSwitch | kToFunction), "");
  EXPECT_EQ(ret(kFunction, kToFunction | kToSensitive), "impossible") << "or ends";
}

TEST_F(Stack, AJumpToALabelNeedsAFunctionThatIsOpenOrHasLeftAStack) {
  const auto jumps = [&](PathFacts facts = 0) {
    ShadowStack fresh = stack;
    return grade(fresh.jump(950, kFromSwitch | kToLabel | (kToUntaken ^ facts), pads));
  };
  calls({101, 202});
  EXPECT_EQ(jumps(), "impossible");
  EXPECT_EQ(jumps(kToUntaken), "") << "its address is to be had: a stack begins there";
  EXPECT_EQ(jumps(kShared), "") << "another thread may have left it";
  pads.left = true;
  EXPECT_EQ(jumps(), "");
  pads.left = false;
  pads.nobodys = {950};
  EXPECT_EQ(jumps(), "");
  pads.nobodys.clear();
  pads.whole = false;
  EXPECT_EQ(jumps(), "") << "unseen";
  pads.whole = true;
  stack.call(910);
  EXPECT_EQ(ret(kFunction, kBegin), "");
  calls({20});
  EXPECT_EQ(jumps(), "") << "open on a stack that waits";
  stack.lose();
  EXPECT_EQ(jumps(), "");
}

// As libunwind's unwinder ends.
TEST_F(Stack, AReturnBehindASwitchGoesToTheLandingPadOfAnOpenCall) {
  const auto lands = [&] { return grade(stack.ret(kPad, kFromSwitch | kToLanding, &pads)); };
  calls({1, 2, 3});
  pads.sites = {4};
  EXPECT_EQ(lands(), "impossible") << "the handler is that of no open call";
  pads.sites = {2};
  EXPECT_EQ(lands(), "");
  EXPECT_EQ(ret(3), "impossible") << "the calls above are closed";
  EXPECT_EQ(ret(1), "");
}

// LuaJIT's handlers, entered by libunwind's setcontext(), against OCaml's.
TEST_F(Stack, AContextsLabelIsOneOfTheLastOpenCallOfItsFunction) {
  for (const bool pushed : {true, false}) {
    pads.pushed = pushed;
    calls({1, 120, 190, 3});
    EXPECT_EQ(grade(stack.ret(150, kFromSwitch | kToLabel, &pads)), "");
    EXPECT_EQ(ret(pushed ? 120 : 1), "");
    stack.lose();
  }
}

// Where nothing tells whose the label is, it may be that of any call which is open.
TEST_F(Stack, AJumpToANobodysLabelMayHaveLeftWhatIsOpen) {
  for (const bool nobodys : {true, false}) {
    if (nobodys) pads.nobodys = {1234};
    calls({1, 2, 3});
    EXPECT_EQ(jump(1234, kFromSwitch | kToLabel), "");
    calls({9});
    EXPECT_EQ(ret(9), "");
    EXPECT_EQ(ret(2), nobodys ? "" : "unexplained") << "not 3";
    EXPECT_EQ(ret(1), "");
    pads.nobodys.clear();
  }
  pads.nobodys = {1234};
  calls({1, 2, 3});
  EXPECT_EQ(jump(1234, kFromSwitch | kToLabel), "");
  EXPECT_EQ(ret(3), "");
  EXPECT_EQ(ret(1), "unexplained") << "a return has told since where the jump ended";
}

TEST_F(Stack, JumpsToNobodysLabelsMayEachHaveLeftWhatIsOpen) {
  pads.nobodys = {1234};
  calls({1, 2});
  EXPECT_EQ(jump(1234, kFromSwitch | kToLabel), "");
  calls({3, 4});
  EXPECT_EQ(jump(1234, kFromSwitch | kToLabel), "");
  EXPECT_EQ(ret(3), "") << "not 4";
  EXPECT_EQ(ret(1), "") << "nor 2";
}

}  // namespace
}  // namespace hodo::check::stacks
