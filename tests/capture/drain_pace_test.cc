#include "channel/drain_pace.h"

#include <gtest/gtest.h>

namespace hodo::capture {
namespace {

// Rounds that are `wait` apart of a buffer of `size` bytes that `rate` bytes come to in a
// microsecond, while there is room.
std::uint64_t fullest_at_last(DrainPace& pace, std::uint64_t size, std::uint64_t rate) {
  std::uint64_t held = 0;
  for (int round = 0; round < 50; ++round) {
    held = std::min(size, static_cast<std::uint64_t>(pace.wait().count()) * rate);
    pace.begin();
    pace.found(held, size);
    pace.end();
  }
  return held;
}

TEST(DrainPaceTest, ABufferThatFillsFastIsLookedAtInTime) {
  for (const std::uint64_t size : {256u << 10, 1u << 20, 4u << 20}) {
    DrainPace pace;
    EXPECT_NEAR(static_cast<double>(fullest_at_last(pace, size, 600)),
                static_cast<double>(size) / 4, static_cast<double>(size) / 50)
        << size;
  }
}

TEST(DrainPaceTest, ABufferThatFillsSlowlyIsNot) {
  DrainPace pace;
  fullest_at_last(pace, 64 << 10, 600);
  EXPECT_EQ(pace.wait(), DrainPace::kLeast);
  fullest_at_last(pace, 4 << 20, 1);
  EXPECT_EQ(pace.wait(), DrainPace::kMost);
}

TEST(DrainPaceTest, TheFullestOfARoundCounts) {
  DrainPace pace;
  pace.begin();
  pace.found(100, 1 << 20);
  pace.found(1 << 20, 1 << 20);
  pace.found(0, 1 << 20);
  pace.end();
  EXPECT_EQ(pace.wait(), DrainPace::kMost / 4);
}

TEST(DrainPaceTest, NothingFoundAndNonsenseAreNoTrouble) {
  DrainPace pace;
  pace.begin();
  pace.end();
  EXPECT_EQ(pace.wait(), DrainPace::kMost);
  pace.begin();
  pace.found(~std::uint64_t{0}, ~std::uint64_t{0});
  pace.found(1, 0);
  pace.end();
  EXPECT_EQ(pace.wait(), DrainPace::kMost / 4);
}

}  // namespace
}  // namespace hodo::capture
