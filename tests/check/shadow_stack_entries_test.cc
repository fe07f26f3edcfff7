// Signals, system calls and gaps: where the kernel leads a thread.
#include <gtest/gtest.h>

#include "stack_fixture.h"

namespace hodo::check::stacks {
namespace {

TEST_F(Stack, AHandlerMayThrowToWhatItInterrupted) {
  pads.sites = {78};  // where a call would have returned to that ends behind 77
  calls({1, 2});
  interrupted(77);
  calls({20});
  EXPECT_EQ(jump(kPad, kFromSwitch | kToLanding), "");
  EXPECT_EQ(ret(2), "");
}

TEST_F(Stack, AHandlerReturnsThroughSigreturn) {
  calls({1});
  interrupted(77);
  calls({2});
  EXPECT_EQ(ret(2), "");
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  EXPECT_EQ(sigreturn(77), "");
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, AHandlerCannotReturnIntoWhatItInterrupted) {
  calls({1});
  interrupted(77);
  EXPECT_EQ(ret(1), "unexplained");
}

TEST_F(Stack, SeveralSignalsRunOneAfterTheOther) {
  calls({1});
  interrupted(77);
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  EXPECT_EQ(sigreturn(kHandler + 1, kToFunction), "") << "the next handler";
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  EXPECT_EQ(sigreturn(77), "");
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, AHandlerMayMendWhatItInterrupted) {
  for (const int meant : {int{kToNearby}, int{kToLabel}, int{kToLanding}, int{kUnjudged}}) {
    interrupted(77);
    EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
    EXPECT_EQ(sigreturn(79, static_cast<PathFacts>(meant)), "") << meant;
  }
  calls({1, 2});
  interrupted(77);
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  EXPECT_EQ(sigreturn(1, kToReturnSite), "") << "behind an open call";
  EXPECT_EQ(stack.depth(), 0u);
}

// A signal comes in front of the sigreturn's system call, which the trace has as a call of its own.
TEST_F(Stack, ASigreturnThatASignalComesBeforeIsMadeLater) {
  calls({1});
  interrupted(77);
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  EXPECT_EQ(sigreturn(kRestorer + 7), "");
  EXPECT_EQ(sigreturn(77), "");
  interrupted(77);
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  EXPECT_EQ(sigreturn(kHandler, kToFunction), "") << "where that is all that the trace has of it";
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  EXPECT_EQ(sigreturn(kRestorer + 7), "");
  EXPECT_EQ(sigreturn(77), "");
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, ASigreturnMayBeInterruptedItself) {
  calls({1});
  interrupted(77);
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  interrupted(kRestorer + 7);
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  EXPECT_EQ(sigreturn(kRestorer + 7), "");
  EXPECT_EQ(sigreturn(77), "");
  EXPECT_EQ(ret(1), "");
}

// Whoever has the handler's frame lead to its own system call, for another one, gets no further.
TEST_F(Stack, WhereASigreturnThatIsMadeLaterLeadsIsJudged) {
  calls({1});
  interrupted(77);
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  EXPECT_EQ(sigreturn(kRestorer + 7), "");
  EXPECT_EQ(sigreturn(99), "unexplained");
}

TEST_F(Stack, AHandlerMayGoToLabelsOfFunctionsThatAreOpen) {
  calls({110});
  pads.nobodys = {450};
  for (const auto& [label, expected] :
       {std::pair(150, ""), {250, ""}, {350, "unexplained"}, {450, ""}}) {
    for (const PathFacts facts : {PathFacts{kToLabel}, PathFacts{kToLanding}}) {
      ShadowStack other = stack;
      other.leave(210, 210, 0);
      EXPECT_EQ(grade(other.enter(kHandler, kToFunction)), "");
      other.leave(kRestorer + 9, kRestorer + 7, kSigreturn);
      EXPECT_EQ(grade(other.enter(static_cast<std::uint64_t>(label), facts, &pads)), expected)
          << label;
    }
  }
}

TEST_F(Stack, AHandlerMayNotGoIntoTheMiddleOfAFunction) {
  calls({1});
  interrupted(77);
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  EXPECT_EQ(sigreturn(99), "unexplained");
  EXPECT_EQ(ret(98), "impossible") << "what goes on from there";
}

TEST_F(Stack, AHandlerMayNotGoIntoASensitiveFunction) {
  calls({1});
  interrupted(77);
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  EXPECT_EQ(sigreturn(kFunction, kToFunction | kToSensitive), "impossible");
}

TEST_F(Stack, AHandlerMayNotGoIntoAFunctionWhoseAddressNobodyHas) {
  calls({1});
  interrupted(77);
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  EXPECT_EQ(sigreturn(kFunction, kToFunction | kToUntaken), "impossible");
}

TEST_F(Stack, AFunctionMayTakeThePlaceOfWhatWasInterrupted) {
  calls({1, 2});
  interrupted(77);
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  EXPECT_EQ(sigreturn(kFunction, kToFunction), "");
  EXPECT_EQ(ret(2), "") << "it returns for it";
  interrupted(78);
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  EXPECT_EQ(sigreturn(kFunction, kToFunction), "");
  EXPECT_EQ(ret(78), "") << "it was called there";
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, AHandlerThatHasReturnedCanBeComeBackTo) {
  calls({1});
  interrupted(77);
  setjmp(10);
  EXPECT_EQ(ret(kRestorer, kToSigreturn), "");
  EXPECT_EQ(sigreturn(77), "");
  setjmp(20);
  EXPECT_EQ(longjmp(10), "") << "on the stack that it has to itself";
  setjmp(30);
  EXPECT_EQ(longjmp(20), "");
  EXPECT_EQ(longjmp(30), "");
  EXPECT_EQ(longjmp(20), "");
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, SiglongjmpLeavesAHandler) {
  calls({1});
  setjmp(10);
  interrupted(77);
  calls({2});
  EXPECT_EQ(longjmp(10), "");
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, ASigreturnWithoutASignalIsImpossible) {
  calls({1});
  EXPECT_EQ(sigreturn(99), "impossible");
}

TEST_F(Stack, SystemCallsGoOnBehindThemOrAgain) {
  calls({1});
  stack.leave(52, 50, 0);
  EXPECT_EQ(grade(stack.enter(52, 0)), "");
  stack.leave(52, 50, 0);
  EXPECT_EQ(grade(stack.enter(50, 0)), "");
  EXPECT_EQ(ret(1), "");
  EXPECT_TRUE(stack.knows_all());
}

TEST_F(Stack, ExecBeginsAnew) {
  calls({1, 2, 3});
  stack.leave(52, 50, 0);
  stack.enter(kImage, kToImage);
  EXPECT_EQ(stack.depth(), 0u);
  EXPECT_EQ(ret(3), "impossible");
}

// --- gaps ---

TEST_F(Stack, BehindAGapOnlyPlacesBehindCallsAreLegal) {
  calls({1, 2});
  stack.lose();
  EXPECT_EQ(ret(2), "");
  EXPECT_EQ(ret(1), "");
  EXPECT_EQ(ret(55, 0), "impossible");
}

// It was away when the trace was lost, as a thread is that a debugger has taken out of the
// recording.
TEST_F(Stack, BehindAGapNobodyKnowsWhereItWouldHaveComeBack) {
  calls({1});
  stack.leave(52, 50, 0);
  EXPECT_TRUE(stack.is_put_elsewhere(70));
  stack.lose();
  EXPECT_FALSE(stack.is_put_elsewhere(70));
  EXPECT_EQ(grade(stack.enter(70, 0)), "");
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, AFilterHidesWhatItExcludes) {
  calls({1});
  stack.call(2);
  stack.leave_filter();
  EXPECT_EQ(grade(stack.enter(2, 0)), "") << "back from the call";
  EXPECT_EQ(ret(1), "");
  calls({3});
  stack.leave_filter();
  stack.enter(40, 0);
  EXPECT_FALSE(stack.knows_all());
}

}  // namespace
}  // namespace hodo::check::stacks
