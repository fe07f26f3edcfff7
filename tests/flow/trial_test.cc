// Whether remembering pays is found out by trying it.
#include "trial.h"

#include <gtest/gtest.h>

namespace hodo::flow {
namespace {

constexpr std::size_t kBytes = 100;

// By what is remembered, a packet or some at a time, until it is given up.
std::size_t remembered(Trial& trial, std::size_t most, bool in_stretches) {
  std::size_t bytes = 0;
  for (; bytes < most && !trial.rests(); bytes += 10) trial.remembered(10, in_stretches ? 10 : 0);
  return bytes;
}

// By steps, until it is tried again.
std::size_t stepped(Trial& trial) {
  std::size_t bytes = 0;
  for (; trial.rests(); bytes += 10) trial.stepped(10);
  return bytes;
}

// At its first trial.
Trial begun() {
  Trial trial(kBytes);
  stepped(trial);
  return trial;
}

TEST(Trial, IsNotForTheBeginning) {
  Trial trial(kBytes);
  EXPECT_EQ(stepped(trial), 16 * kBytes);
}

TEST(Trial, GoesOnWhereStretchesComeAgain) {
  Trial trial = begun();
  EXPECT_EQ(remembered(trial, 100'000, true), 100'000u);
}

TEST(Trial, WhatIsLearnedIsNotJudged) {
  Trial trial = begun();
  EXPECT_EQ(remembered(trial, kBytes, false), kBytes);
  EXPECT_EQ(remembered(trial, 100'000, true), 100'000u);
}

TEST(Trial, GivesUpWhereTheyDoNot) {
  Trial trial = begun();
  EXPECT_EQ(remembered(trial, 100'000, false), 2 * kBytes);
}

TEST(Trial, GivesUpWhereTheyNoLongerDo) {
  Trial trial = begun();
  EXPECT_EQ(remembered(trial, 10'000, true), 10'000u);
  EXPECT_EQ(remembered(trial, 100'000, false), kBytes);
}

TEST(Trial, IsMadeEverMoreSeldom) {
  Trial trial = begun();
  std::size_t before = 0;
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(remembered(trial, 100'000, false), 2 * kBytes);
    const std::size_t now = stepped(trial);
    EXPECT_EQ(now, before == 0 ? 16 * kBytes : 2 * before);
    before = now;
  }
  EXPECT_EQ(remembered(trial, 100'000, false), 2 * kBytes);
  EXPECT_EQ(stepped(trial), before) << "but not too seldom";
}

TEST(Trial, OneThatPaidMakesTheNextRestShort) {
  Trial trial = begun();
  for (int i = 0; i < 3; ++i) {
    remembered(trial, 100'000, false);
    stepped(trial);
  }
  remembered(trial, 1000, true);
  remembered(trial, 100'000, false);
  EXPECT_EQ(stepped(trial), 16 * kBytes);
}

TEST(Trial, TooMuchToRememberIsNoSuccess) {
  Trial trial = begun();
  remembered(trial, 50, true);
  trial.fail();
  EXPECT_EQ(stepped(trial), 16 * kBytes);
}

}  // namespace
}  // namespace hodo::flow
