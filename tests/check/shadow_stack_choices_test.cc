// Jumps that may have ended in several calls, and the returns that say in which.
#include <gtest/gtest.h>

#include <vector>

#include "stack_fixture.h"

namespace hodo::check::stacks {
namespace {

using Addresses = std::vector<std::uint64_t>;

TEST_F(Stack, ALongjmpThatWasOpenToDoubtStaysSoBehindAnother) {
  // Two setjmps at one place in a recursion, and one in what was called behind a jump.
  calls({1});
  setjmp(50);
  calls({2, 3});
  setjmp(50);
  calls({4});
  EXPECT_EQ(longjmp(50), "") << "the outer one, as it turns out";
  calls({5});
  setjmp(60);
  calls({6});
  EXPECT_EQ(longjmp(60), "");
  EXPECT_EQ(ret(5), "");
  EXPECT_EQ(ret(1), "");
}

// R: a jump out of a call whose function was entered by one that was open to doubt.
TEST_F(Stack, ASetjmpBehindADoubtfulLongjmpIsInDoubtAsThat) {
  calls({1});
  setjmp(50);
  calls({2});
  setjmp(50);
  calls({3});
  EXPECT_EQ(longjmp(50), "") << "the outer one, as it turns out";
  setjmp(60);
  calls({4});
  EXPECT_EQ(longjmp(60), "");
  EXPECT_EQ(ret(1), "");
  EXPECT_EQ(ret(2), "impossible") << "the call was left";
}

TEST_F(Stack, AJumpThatPassedADoubtfulOneMayHaveEndedBelowAllOfIts) {
  // Calls of 50 and 60 in turn: two doubts meet where the inner one's function has returned.
  calls({1});
  setjmp(50);
  calls({2});
  setjmp(50);
  calls({3, 4});
  EXPECT_EQ(longjmp(50), "") << "the outer one";
  calls({5});
  setjmp(60);
  calls({5});
  setjmp(60);
  calls({6});
  EXPECT_EQ(longjmp(60), "") << "the outer one";
  EXPECT_EQ(ret(5), "");
  EXPECT_EQ(ret(1), "") << "behind both";
}

TEST_F(Stack, EveryReturnDecidesWhereAJumpMayHaveEnded) {
  for (const std::uint64_t first : {3, 4}) {
    calls({1, 2, first});
    setjmp(50);
    calls({5, 3});
    setjmp(50);
    EXPECT_EQ(longjmp(50), "");
    EXPECT_EQ(ret(3), "");
    EXPECT_EQ(ret(2), first == 3 ? "" : "unexplained") << "only 3 was returned to";
    stack.enter(kImage, kToImage);
  }
}

// What lay between both ends when the jump was taken may be overwritten when that is asked for.
TEST_F(Stack, CallsBehindADoubtfulJumpDoNotHideWhatWasClosed) {
  calls({1});
  setjmp(50);
  calls({1, 2, 3, 4});
  setjmp(50);
  EXPECT_EQ(longjmp(50), "");
  for (const std::uint64_t last : {4, 3, 2}) {
    EXPECT_EQ(ret(last), "") << "the inner one";
    calls({7});
    EXPECT_EQ(ret(7), "");
  }
  calls({1, 1, 1});
  setjmp(60);
  EXPECT_EQ(longjmp(60), "");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ret(1), "");
  EXPECT_EQ(ret(1), "impossible");
}

TEST_F(Stack, AnOuterJumpIsToldByWhatLayBetween) {
  calls({1, 3, 5, 5});
  setjmp(50);
  calls({5});
  setjmp(50);
  EXPECT_EQ(longjmp(50), "") << "the outer one";
  EXPECT_EQ(ret(5), "");
  EXPECT_EQ(ret(5), "");
  calls({9});
  EXPECT_EQ(ret(9), "");
  EXPECT_EQ(ret(3), "");
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, AnOuterJumpGoesOnFromAllThatAnOlderOneLeftOpen) {
  calls({1, 2});
  setjmp(50);
  calls({3});
  setjmp(50);
  EXPECT_EQ(longjmp(50), "") << "the outer one";
  calls({4});
  setjmp(60);
  calls({2, 4});
  setjmp(60);
  EXPECT_EQ(longjmp(60), "") << "the outer one";
  EXPECT_EQ(ret(4), "");
  EXPECT_EQ(ret(2), "") << "3 was left";
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, FollowsNoReturnsPastADoubtfulJump) {
  calls({1});
  setjmp(50);
  calls({2});
  setjmp(50);
  EXPECT_EQ(longjmp(50), "");
  calls({7});
  EXPECT_FALSE(stack.follow(Addresses{7, 2}, {}));
  EXPECT_TRUE(stack.follow(Addresses{7}, {}));
  EXPECT_EQ(ret(1), "");
}

TEST_F(Stack, SetjmpsOfHundredsOfLevelsAreToldApart) {
  for (std::uint64_t level = 1; level <= 500; ++level) {
    calls({1000 + level});
    setjmp(50);
  }
  EXPECT_EQ(longjmp(50), "");
  EXPECT_EQ(ret(1003), "");
  EXPECT_EQ(ret(1002), "");
  EXPECT_EQ(ret(1004), "impossible");
}

TEST_F(Stack, SetjmpsInTurnAtOneDepthAreKeptOnce) {
  calls({1});
  for (int i = 0; i < 100'000; ++i) {
    setjmp(50);
    setjmp(60);
  }
  setjmp(70);
  calls({2});
  EXPECT_EQ(longjmp(70), "");
  EXPECT_EQ(ret(1), "");
}

}  // namespace
}  // namespace hodo::check::stacks
