// Times of records in a file with finished rounds, against what perf makes of them.
#include "channel/rounds.h"

#include <gtest/gtest.h>

namespace hodo::capture {
namespace {

TEST(RoundsTest, ARecordThatIsLateByOneRoundKeepsItsTime) {
  Rounds rounds;
  EXPECT_EQ(rounds.time_of(100), 100u);
  rounds.finish(200);
  EXPECT_EQ(rounds.time_of(90), 90u);
}

// The second finished round delivers what is not younger than 100.
TEST(RoundsTest, ARecordThatIsLateByTwoRoundsIsAsOldAsCanBe) {
  Rounds rounds;
  rounds.time_of(100);
  rounds.finish(200);
  rounds.time_of(150);
  rounds.finish(200);
  EXPECT_EQ(rounds.time_of(99), 100u);
  EXPECT_EQ(rounds.time_of(100), 100u);
  EXPECT_EQ(rounds.time_of(101), 101u);
}

TEST(RoundsTest, ATimeToComeDelaysNobodyElse) {
  Rounds rounds;
  EXPECT_EQ(rounds.time_of(1'000'000), 1'000'000u);
  rounds.finish(200);
  rounds.finish(300);
  EXPECT_EQ(rounds.time_of(250), 250u);
  EXPECT_EQ(rounds.time_of(150), 200u);
}

TEST(RoundsTest, WithoutRoundsEveryTimeIsKept) {
  Rounds rounds;
  rounds.time_of(100);
  EXPECT_EQ(rounds.time_of(1), 1u);
}

}  // namespace
}  // namespace hodo::capture
