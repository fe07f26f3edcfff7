// What may happen to a thread's stack, and what only looks like it.
#include <gtest/gtest.h>

#include <vector>

#include "stack_fixture.h"

namespace hodo::check::stacks {
namespace {

using Addresses = std::vector<std::uint64_t>;

TEST_F(Stack, ReturnsGoBehindTheLastCall) {
  calls({1, 2, 3});
  EXPECT_EQ(ret(3), "");
  EXPECT_EQ(ret(2), "");
  EXPECT_EQ(ret(1), "");
  EXPECT_EQ(ret(1), "impossible") << "no call is open any more";
}

TEST_F(Stack, AnExceptionThatReturnsGoesToACallBeforeItsHandler) {
  constexpr PathFacts kRaise = kFromSwitch | kToLabel;
  calls({1, 110, 160, 300});
  EXPECT_EQ(grade(stack.ret(150, kRaise, &pads)), "");
  EXPECT_EQ(ret(110), "impossible") << "closed, though 160 is of that function, too";
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, AnExceptionThatReturnsGoesToTheLastCallWhereNoneStandsBefore) {
  constexpr PathFacts kRaise = kFromSwitch | kToLabel;
  calls({1, 160, 170, 300});
  EXPECT_EQ(grade(stack.ret(150, kRaise, &pads)), "");
  EXPECT_EQ(ret(160), "");
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, AReturnMaySkipWhatLiesBehindItsCall) {
  pads.with_arguments = {1000};
  calls({1, 1000});
  EXPECT_EQ(grade(stack.ret(1256, kFromPushed, &pads)), "");
  EXPECT_EQ(ret(1), "") << "the call is closed";
  calls({1000});
  EXPECT_EQ(grade(stack.ret(1257, kFromPushed, &pads)), "impossible") << "too far";
  EXPECT_EQ(grade(stack.ret(999, kFromPushed, &pads)), "impossible") << "before";
}

TEST_F(Stack, AReturnSkipsNothingBehindOtherCalls) {
  pads.with_arguments = {1000};
  calls({1000, 2000});
  EXPECT_EQ(grade(stack.ret(2008, 0, &pads)), "impossible");
  EXPECT_EQ(grade(stack.ret(1008, 0, &pads)), "impossible") << "not the last call";
}

TEST_F(Stack, AJumpMaySkipWhatLiesBehindItsCall) {
  pads.with_arguments = {1000};
  calls({1, 1000});
  EXPECT_FALSE(stack.skip(2000, pads));
  EXPECT_TRUE(stack.skip(1010, pads));
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, AStackMayHaveBeenLeftBeforeAGap) {
  calls({1, 1000});
  EXPECT_EQ(ret(kFunction, kBegin), "") << "another stack begins";
  EXPECT_EQ(grade(stack.ret(1003, kFromSwitch, &pads)), "impossible");
  pads.with_gaps = {1000};
  EXPECT_EQ(grade(stack.ret(1003, kFromSwitch, &pads)), "");
  EXPECT_EQ(ret(1), "") << "the call is closed";
}

TEST_F(Stack, AReturnToNoOpenCallIsImpossible) {
  calls({1, 2});
  EXPECT_EQ(ret(7), "impossible");
}

TEST_F(Stack, AReturnPastOpenCallsIsUnexplained) {
  calls({1, 2, 3});
  EXPECT_EQ(ret(1), "unexplained");
  EXPECT_EQ(stack.depth(), 0u) << "it goes on from there";
}

TEST_F(Stack, AfterAFindingTheCallsThatAreOpenStillCount) {
  calls({1, 2, 3});
  EXPECT_EQ(ret(7), "impossible");
  EXPECT_EQ(ret(8), "impossible") << "the next piece of a chain";
  calls({5});
  EXPECT_EQ(ret(5), "") << "a call of its own";
  EXPECT_EQ(ret(9), "impossible") << "and the chain goes on";
}

TEST_F(Stack, AChainEndsWhereAnOpenCallGoesOn) {
  calls({1, 2, 3});
  EXPECT_EQ(ret(7), "impossible");
  EXPECT_EQ(ret(2), "") << "what was overwritten is told already";
  EXPECT_EQ(ret(1), "");
  calls({4, 5});
  EXPECT_EQ(ret(4), "unexplained") << "the next one counts";
}

TEST_F(Stack, GivesUpAStackThatItDoesNotUnderstand) {
  calls({1});
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(ret(100 + i), "impossible");
  EXPECT_EQ(ret(200), "");
}

TEST_F(Stack, AChainIsJudgedAboveAnUnknownDepth) {
  stack.lose();
  calls({1, 2});
  EXPECT_EQ(ret(7), "impossible");
  EXPECT_EQ(ret(8), "impossible");
  calls({3});
  EXPECT_EQ(ret(3), "");
  EXPECT_EQ(ret(9), "") << "what lies below is not known";
}

// --- addresses that the program's own text planted ---

constexpr PathFacts kLabelOfSwitch = kFromSwitch | kToLabel;

TEST_F(Stack, AJumpToALabelOfAnOpenFunctionClosesWhatItCalled) {
  calls({101, 202, 303});
  EXPECT_EQ(jump(250, kLabelOfSwitch), "");
  EXPECT_EQ(stack.depth(), 1u) << "the call that 202 was the return address of is gone on in";
  EXPECT_EQ(ret(101), "");
}

TEST_F(Stack, AHandlersJumpToALabelOfWhatItInterruptedEndsTheHandler) {
  calls({101, 202});
  interrupted(240);
  calls({401});
  EXPECT_EQ(jump(250, kLabelOfSwitch), "");
  EXPECT_EQ(stack.depth(), 2u) << "not gone on in the call of the same function that is open below";
  EXPECT_EQ(ret(202), "");
  EXPECT_EQ(ret(101), "");
}

TEST_F(Stack, AReturnToALabelOfAnOpenFunctionDoesAsAJump) {
  calls({101, 202, 303});
  EXPECT_EQ(grade(stack.ret(250, kLabelOfSwitch, &pads)), "");
  EXPECT_EQ(ret(101), "");
}

TEST_F(Stack, AReturnToALabelOfAClosedFunctionIsImpossible) {
  calls({101, 202, 303});
  EXPECT_EQ(grade(stack.ret(450, kLabelOfSwitch, &pads)), "impossible");
}

TEST_F(Stack, WhichOfARecursionsLabelsItWasTheNextReturnSays) {
  calls({101, 202, 203, 202, 404});
  EXPECT_EQ(jump(250, kLabelOfSwitch), "");
  EXPECT_EQ(ret(101), "") << "the outermost one";
  EXPECT_EQ(ret(101), "impossible");
}

TEST_F(Stack, TheFileThatTheKernelBeganWithStartsTheProgramOnce) {
  calls({1, 2});
  EXPECT_TRUE(stack.start_program());
  EXPECT_EQ(stack.depth(), 0u);
  EXPECT_FALSE(stack.start_program());
}

TEST_F(Stack, WhatAnotherThreadMayHaveGoneOnWithIsAGuess) {
  calls({1, 2});
  EXPECT_EQ(jump(300, kFromSwitch | kToReturnSite), "") << "a stack that is not known begins";
  calls({3});
  EXPECT_EQ(jump(2, kFromSwitch | kToReturnSite | kShared), "") << "back, or so it seems";
  calls({4});
  EXPECT_EQ(ret(7), "impossible") << "what was called since is certain";
  EXPECT_EQ(ret(4), "");
  EXPECT_EQ(ret(9), "") << "the other thread's";
}

TEST_F(Stack, WhatOneThreadLeftIsKnown) {
  calls({1, 2});
  EXPECT_EQ(jump(300, kFromSwitch | kToReturnSite), "");
  calls({3});
  EXPECT_EQ(jump(2, kFromSwitch | kToReturnSite), "");
  EXPECT_EQ(ret(9), "impossible");
}

TEST_F(Stack, AFunctionThatAHandlerPutInBetweenGoesBackBehindPopf) {
  calls({1});
  interrupted(30);
  EXPECT_EQ(sigreturn(kFunction, kToFunction), "") << "into a function that saves everything";
  calls({2, 3});
  EXPECT_EQ(ret(30, kResumes), "");
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, AReturnBehindPopfNeedsAnInterruption) {
  calls({1});
  EXPECT_EQ(ret(30, kResumes), "impossible");
}

TEST_F(Stack, TwoStacksThatAreLeftAtOnePlaceAreNotOne) {
  calls({1, 50});
  EXPECT_EQ(jump(kFunction, kFromSwitch | kToFunction), "");
  calls({2, 50});
  EXPECT_EQ(jump(50, kFromSwitch | kToReturnSite), "") << "back to the first, not to itself";
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, WhereTheCallWasNotSeenAReturnMayGoBehindItsData) {
  stack.lose();
  EXPECT_EQ(ret(3, kToArguments), "");
  EXPECT_EQ(ret(3, 0), "impossible") << "behind no call";
}

// makecontext's function ends: that a switch began the stack was not seen.
TEST_F(Stack, WhereNotAllWasSeenAFunctionMayBeReturnedTo) {
  const auto returns = [&](PathFacts facts) { return grade(stack.ret(kFunction, facts, &pads)); };
  stack.lose();
  EXPECT_EQ(returns(kToFunction), "impossible");
  pads.whole = false;
  EXPECT_EQ(returns(kToFunction), "");
  EXPECT_EQ(returns(kToFunction | kToUntaken), "impossible");
  EXPECT_EQ(returns(kToFunction | kToSensitive), "impossible");
  stack.call(1);
  EXPECT_EQ(returns(kToFunction), "impossible") << "the call is known";
}

// Boost's fibers: a function on top of a stack that was left before the trace began.
TEST_F(Stack, WhereNotAllWasSeenAFunctionOnTopReturnsBehindAnyCall) {
  for (const bool whole : {true, false}) {
    pads.whole = whole;
    stack.lose();
    calls({1, 2});
    stack.jump(kFunction, kFromSwitch | kToFunction, pads);
    EXPECT_EQ(grade(stack.ret(9, kToReturnSite, &pads)), whole ? "impossible" : "");
  }
}

// R's closures, all of which call setjmp at one place, after an exception of code that nobody
// knows.
TEST_F(Stack, ALongjmpMayLeadToASetjmpBelowWhatIsKnown) {
  stack.lose();
  calls({1, 2, 10});
  EXPECT_EQ(ret(10, kToSetjmp), "");
  calls({3, 4});
  EXPECT_EQ(jump(10, kFromSwitch | kFromLongjmp | kToSetjmp), "");
  EXPECT_EQ(ret(2), "");
  EXPECT_EQ(ret(20, kToReturnSite), "") << "not 1";
  EXPECT_EQ(stack.depth(), 0);

  calls({1, 2, 10});
  EXPECT_EQ(ret(10, kToSetjmp), "");
  EXPECT_EQ(jump(10, kFromSwitch | kFromLongjmp | kToSetjmp), "");
  calls({5});
  EXPECT_EQ(ret(6, kToReturnSite), "impossible") << "a call that was made since";
}

// A setjmp whose address the program has in a register: behind such a call no name stands.
TEST_F(Stack, ACallTellsThatItReturnsTwice) {
  constexpr PathFacts kJump = kFromSwitch | kFromLongjmp | kToReturnSite;
  calls({1});
  stack.call(10, kToSetjmp);
  EXPECT_FALSE(stack.follow({{10}}, {})) << "as if it returned once";
  EXPECT_EQ(ret(10), "");
  for (int i = 0; i < 2; ++i) {
    calls({2, 3});
    EXPECT_EQ(jump(10, kJump), "");
    EXPECT_EQ(stack.depth(), 1);
  }
  calls({11});
  EXPECT_EQ(ret(11), "");
  EXPECT_EQ(jump(11, kJump), "impossible") << "another function was called there";
}

// Behind the call no name stands, and the call was one of something else.
TEST_F(Stack, ASetjmpThatIsJumpedToReturnsTwiceForTheOpenCall) {
  calls({1, 10});
  stack.enter_twice();
  EXPECT_EQ(ret(10), "");
  for (int i = 0; i < 2; ++i) {
    calls({2, 3});
    EXPECT_EQ(jump(10, kFromSwitch | kFromLongjmp | kToReturnSite), "");
    EXPECT_EQ(stack.depth(), 1);
  }
  EXPECT_EQ(ret(1), "");
  interrupted(7);
  stack.enter_twice();
  EXPECT_EQ(sigreturn(7), "") << "no call is";
  EXPECT_EQ(jump(7, kFromSwitch | kFromLongjmp | kToReturnSite), "impossible");
}

// All of which called setjmp at one place; the handler is one of them.
TEST_F(Stack, ALongjmpOfARecursiveHandlerMayHaveLeftAllOfIt) {
  for (const bool sigreturns : {true, false}) {
    calls({1});
    interrupted(7);
    setjmp(50);
    calls({50});
    setjmp(50);
    calls({60});
    EXPECT_EQ(longjmp(50), "");
    EXPECT_EQ(ret(kRestorer, sigreturns ? +kToSigreturn : 0), sigreturns ? "" : "impossible");
    if (!sigreturns) break;
    EXPECT_EQ(sigreturn(7), "");
    EXPECT_EQ(ret(1), "");
  }
}

TEST_F(Stack, WhatGeneratedCodeOnlyAskedIsNotReturnedTo) {
  stack.lose();
  pads.generated = {7};
  calls({7});
  EXPECT_EQ(grade(stack.ret(3, 0, &pads)), "impossible") << "behind no call";
  stack.lose();
  calls({7});
  EXPECT_EQ(grade(stack.ret(3, kToReturnSite, &pads)), "");
  EXPECT_EQ(stack.depth(), 0);
  stack.lose();
  calls({6, 7});
  EXPECT_EQ(grade(stack.ret(3, kToReturnSite, &pads)), "impossible") << "a call of a file is open";
}

TEST_F(Stack, CallsOfGeneratedCodeMayStayOpen) {
  calls({1, 2});
  pads.generated = {7, 8};
  calls({7, 8});
  EXPECT_EQ(grade(stack.ret(2, kToReturnSite, &pads)), "");
  calls({7, 9});
  EXPECT_EQ(grade(stack.ret(1, kToReturnSite, &pads)), "unexplained") << "9 is another's";
}

TEST_F(Stack, AStackThatAJumpBeganEndsInAFunctionThatIsWrittenDown) {
  calls({1});
  EXPECT_EQ(jump(kFunction, kFromSwitch | kToFunction), "");
  calls({2});
  EXPECT_EQ(ret(2), "");
  EXPECT_EQ(ret(kFunction + 1, kToFunction), "");
  EXPECT_EQ(ret(kFunction + 1, kToFunction), "impossible") << "once";
}

TEST_F(Stack, AJumpToAFunctionMayLeaveCallsThatAreOpen) {
  calls({1, 2, 3});
  EXPECT_EQ(jump(kFunction, kFromSwitch | kToFunction), "");
  calls({4});
  EXPECT_EQ(ret(4), "");
  EXPECT_EQ(ret(1), "");
  calls({1, 2, 3});
  EXPECT_EQ(jump(kFunction, kFromSwitch | kToFunction), "");
  calls({4});
  EXPECT_EQ(ret(1), "unexplained") << "but none that was made since";
}

TEST_F(Stack, WhatTheLinkersResolverJumpsToBeginsNoStack) {
  calls({1});
  EXPECT_EQ(jump(kFunction, kFromSwitch | kToFunction | kFromResolver), "");
  EXPECT_EQ(ret(kFunction + 1, kToFunction), "impossible");
}

TEST_F(Stack, NothingIsConcludedOfFilesThatCannotBeRead) {
  calls({1, 2});
  EXPECT_EQ(ret(7, kUnjudged), "");
  EXPECT_FALSE(stack.knows_all());
}

// --- longjmp ---

TEST_F(Stack, LongjmpClosesTheCallsSinceSetjmp) {
  calls({1});
  setjmp(10);
  calls({2, 3, 4});
  EXPECT_EQ(longjmp(10), "");
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, LongjmpIntoAFunctionThatHasReturnedIsAFinding) {
  calls({1, 2});
  setjmp(10);
  EXPECT_EQ(ret(2), "");
  EXPECT_EQ(longjmp(10), "unexplained");
}

TEST_F(Stack, LongjmpToAnywhereElseIsImpossible) {
  calls({1});
  setjmp(10);
  for (const int target : {0, int{kToFunction}, int{kToLabel}, int{kToReturnSite}}) {
    ShadowStack fresh = stack;
    const auto facts = static_cast<PathFacts>(kFromSwitch | kFromLongjmp | target);
    const auto verdict = fresh.jump(99, facts, pads);
    EXPECT_EQ(grade(verdict), "impossible") << target;
  }
}

TEST_F(Stack, RecursionThatCallsSetjmpAtOnePlaceMayReturnToAnyOfThem) {
  calls({1});
  for (int depth = 0; depth < 3; ++depth) {
    calls({5});
    setjmp(10);
  }
  calls({6, 7});
  EXPECT_EQ(longjmp(10), "");
  // It was the outermost: one return to 5 and then to 1, instead of three.
  EXPECT_EQ(ret(5), "");
  EXPECT_EQ(ret(1), "") << "the frames between were left";
}

// --- exceptions ---

TEST_F(Stack, AnExceptionLandsInAnOpenFunction) {
  pads.sites = {2};
  calls({1, 2, 3, 4});
  EXPECT_EQ(jump(kPad, kFromSwitch | kToLanding), "");
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, AnExceptionThatLandsInNoOpenFunctionIsAFinding) {
  pads.sites = {9};
  calls({1, 2, 3});
  EXPECT_EQ(jump(kPad, kFromSwitch | kToLanding), "unexplained");
}

// --- returns that are jumps ---

TEST_F(Stack, APushedTargetHasToBeWrittenDown) {
  calls({1});
  EXPECT_EQ(ret(kFunction, kFromPushed | kToLabel), "");
  EXPECT_EQ(ret(99, kFromPushed), "impossible");
}

TEST_F(Stack, APushedTargetMayBeACallThatIsOpen) {
  calls({1, 2, 3});
  EXPECT_EQ(ret(4, kFromPushed | kToReturnSite), "impossible") << "that was not made";
  EXPECT_EQ(ret(1, kFromPushed | kToReturnSite), "");
  EXPECT_EQ(stack.depth(), 0);
  stack.lose();
  calls({2});
  EXPECT_EQ(ret(1, kFromPushed | kToReturnSite), "") << "before which nothing is known";
}

// musl's sigsetjmp: it takes its return address off the stack, calls setjmp and pushes it again.
TEST_F(Stack, ASetjmpOfAFunctionThatReturnsTwiceIsItsCallers) {
  calls({1, 50});
  setjmp(60);
  EXPECT_EQ(ret(50, kToReturnSite | kToSetjmp), "");
  calls({2, 3});
  EXPECT_EQ(longjmp(60), "");
  EXPECT_EQ(ret(50, kToReturnSite | kToSetjmp), "") << "who called sigsetjmp goes on";
  calls({4});
  EXPECT_EQ(longjmp(60), "") << "again";
  EXPECT_EQ(ret(50, kToReturnSite | kToSetjmp), "");
  EXPECT_EQ(ret(1), "");
  calls({5});
  EXPECT_EQ(longjmp(60), "unexplained") << "as long as that call is open";
}

TEST_F(Stack, ASetjmpOfAnotherFunctionIsNotItsCallers) {
  calls({1, 50});
  setjmp(60);
  EXPECT_EQ(ret(50), "");
  EXPECT_EQ(longjmp(60), "unexplained");
}

TEST_F(Stack, ARetpolineClosesItsOwnCall) {
  calls({1, 2});
  EXPECT_EQ(ret(kFunction, kFromStored | kToFunction), "");
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, ForgetsTheOldestCallsOfAStackThatNoProgramHas) {
  for (std::uint64_t i = 0; i < (std::uint64_t{1} << 20) + 10; ++i) stack.call(i);
  EXPECT_LE(stack.depth(), std::size_t{1} << 20);
  EXPECT_FALSE(stack.knows_all());
}

// --- paths as a whole ---

TEST_F(Stack, FollowsReturnsAndCallsAtOnce) {
  calls({1, 2, 3});
  EXPECT_TRUE(stack.follow(Addresses{3, 2}, Addresses{7, 8}));
  EXPECT_EQ(stack.depth(), 3u);
  EXPECT_EQ(ret(8), "");
  EXPECT_EQ(ret(7), "");
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, FollowsNoReturnsThatDoNotGoBehindTheOpenCalls) {
  calls({1, 2, 3});
  EXPECT_FALSE(stack.follow(Addresses{3, 1}, Addresses{7}));
  EXPECT_FALSE(stack.follow(Addresses{3, 2, 1, 0}, {}));
  EXPECT_EQ(stack.depth(), 3u);
  interrupted(9);
  EXPECT_FALSE(stack.follow(Addresses{9}, {}));  // only a sigreturn goes there
}

// As where a trace begins in the middle: what lies below the calls that are known may be anything.
TEST_F(Stack, FollowsReturnsBelowTheCallsThatAreKnown) {
  stack.lose();
  calls({1, 2});
  EXPECT_FALSE(stack.follow(Addresses{2, 3, 4}, {}));  // above these they are
  EXPECT_EQ(stack.depth(), 2u);
  EXPECT_TRUE(stack.follow(Addresses{2, 1, 4, 5}, Addresses{7}));
  EXPECT_EQ(stack.depth(), 1u);
  EXPECT_EQ(ret(7), "");
  EXPECT_TRUE(stack.follow(Addresses{6}, {}));
}

TEST_F(Stack, FollowsNoReturnsBelowThoseOfAStackThatMayBeAnotherOne) {
  stack.lose();
  calls({1, 2, 3});
  EXPECT_EQ(ret(kFunction, kBegin), "");               // another stack
  EXPECT_EQ(ret(3, kFromSwitch | kToReturnSite), "");  // and back to the first one
  EXPECT_FALSE(stack.follow(Addresses{2, 1, 5}, {}));
  EXPECT_TRUE(stack.follow(Addresses{2, 1}, {}));
}

// A jump to a label of a switching function leaves open whose stack it is: the next return says so.
TEST_F(Stack, FollowsNothingWhileTheStackIsUnsettled) {
  calls({1, 2});
  EXPECT_EQ(jump(kFunction, kFromSwitch | kToLabel), "");
  EXPECT_FALSE(stack.follow(Addresses{2}, {}));
}

TEST_F(Stack, APlantedReturnGoesAsFarBehindAFunctionAsWasPushed) {
  const auto returns = [&](std::uint64_t to, PathFacts facts = kToReturnSite) {
    return grade(stack.ret(to, facts, &pads));
  };
  calls({1, 2});
  stack.plant(220);
  calls({3});
  EXPECT_EQ(returns(3), "");
  EXPECT_EQ(returns(7220), "");
  EXPECT_EQ(returns(2), "");
  EXPECT_EQ(returns(1), "");
}

TEST_F(Stack, APlantedReturnThatWasChangedIsFound) {
  const auto grade_of = [&](std::uint64_t to, PathFacts facts = kToReturnSite) {
    ShadowStack fresh = stack;
    return grade(fresh.ret(to, facts, &pads));
  };
  calls({1, 2});
  stack.plant(220);
  EXPECT_EQ(grade_of(7221), "impossible") << "not as far";
  EXPECT_EQ(grade_of(7220, kToFunction), "impossible") << "behind no call";
  calls({3});
  EXPECT_EQ(grade_of(7220), "impossible") << "a call is open that was made since";
  EXPECT_EQ(grade(stack.ret(3, kToReturnSite, &pads)), "");
  EXPECT_EQ(grade(stack.ret(2, kToReturnSite, &pads)), "");
  EXPECT_EQ(grade_of(7220), "impossible") << "what it was pushed on has ended";
  calls({2});
  EXPECT_EQ(grade_of(7220), "impossible") << "and is not there again";
}

TEST_F(Stack, APlantedReturnIsUsedOnce) {
  calls({1, 2});
  stack.plant(220);
  EXPECT_EQ(grade(stack.ret(7220, kToReturnSite, &pads)), "");
  EXPECT_EQ(grade(stack.ret(7220, kToReturnSite, &pads)), "impossible");
}

// V8's interpreter goes on where an exception is handled, with what the throwing code left open.
TEST_F(Stack, BehindAPlantedReturnACallThatAJumpLeftOpenGoesOn) {
  calls({1, 2, 3, 4});
  EXPECT_EQ(jump(kFunction, kFromSwitch | kToFunction), "");
  stack.plant(220);
  EXPECT_EQ(grade(stack.ret(7220, kToReturnSite, &pads)), "");
  EXPECT_EQ(grade(stack.ret(99, kToReturnSite, &pads)), "impossible");
}

}  // namespace
}  // namespace hodo::check::stacks
