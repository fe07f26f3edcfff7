// What a path does to a thread's calls, and what is kept of it.
#include "path_summary.h"

#include <gtest/gtest.h>

namespace hodo::check {
namespace {

using Addresses = std::vector<std::uint64_t>;
using Known = PathSummaries::Known;

Addresses list(std::span<const std::uint64_t> all) { return {all.begin(), all.end()}; }

TEST(PathEffect, CallsThatReturnedLeaveNothing) {
  PathEffectBuilder path;
  path.call(10, 100);
  path.call(20, 200);
  path.ret(20);
  path.ret(10);
  ASSERT_TRUE(path.possible());
  EXPECT_EQ(list(path.effect().returned), Addresses{});
  EXPECT_EQ(list(path.effect().called), Addresses{});
  EXPECT_TRUE(path.effect().ends_returns);
  EXPECT_TRUE(path.effect().ends_jumps);
}

TEST(PathEffect, ReturnsToEarlierCallsComeBeforeCallsThatStayOpen) {
  PathEffectBuilder path;
  path.ret(1);
  path.call(10, 100);
  path.ret(10);
  path.ret(2);
  path.call(20, 200);
  path.call(30, 300);
  ASSERT_TRUE(path.possible());
  EXPECT_EQ(list(path.effect().returned), (Addresses{1, 2}));
  EXPECT_EQ(list(path.effect().called), (Addresses{20, 30}));
}

TEST(PathEffect, AReturnPastACallOfThePathHasNone) {
  PathEffectBuilder path;
  path.call(10, 100);
  path.ret(11);
  EXPECT_FALSE(path.possible());
}

TEST(PathEffect, ACallOfTheNextInstructionOpensNothing) {
  PathEffectBuilder path;
  path.call(10, 10);
  EXPECT_EQ(list(path.effect().called), Addresses{});
  EXPECT_TRUE(path.effect().ends_returns);
}

TEST(PathEffect, JumpsEndChainsOfJumpsAlone) {
  PathEffectBuilder path;
  path.jump();
  EXPECT_FALSE(path.effect().ends_returns);
  EXPECT_TRUE(path.effect().ends_jumps);
}

TEST(PathEffect, ABuilderCanBeUsedAgain) {
  PathEffectBuilder path;
  path.call(10, 100);
  path.ret(11);
  path.clear();
  ASSERT_TRUE(path.possible());
  EXPECT_FALSE(path.effect().ends_returns);
  EXPECT_FALSE(path.effect().ends_jumps);
  path.ret(1);
  EXPECT_EQ(list(path.effect().returned), Addresses{1});
  EXPECT_EQ(list(path.effect().called), Addresses{});
}

TEST(PathSummaries, KnowsBranchesUntilAnotherMemoryOrMapping) {
  PathSummaries all;
  all.select(1, 5);
  EXPECT_EQ(all.edge(3), nullptr);
  all.add_edge(3, {EdgeEffect::What::calls, 10});
  EXPECT_EQ(all.edge(2), nullptr);
  EXPECT_EQ(all.edge(4), nullptr);
  ASSERT_NE(all.edge(3), nullptr);
  EXPECT_EQ(all.edge(3)->next, 10u);
  all.select(1, 6);
  EXPECT_EQ(all.edge(3), nullptr);
  all.add_edge(3, {EdgeEffect::What::nothing});
  all.select(2, 6);
  EXPECT_EQ(all.edge(3), nullptr);
}

TEST(PathSummaries, KnowsPathsUntilAnotherMemoryOrMapping) {
  PathEffectBuilder path;
  path.ret(1);
  path.call(10, 100);
  PathSummaries all;
  all.select(1, 5);
  EXPECT_EQ(all.known(7), Known::no);
  all.add(7, path);
  all.add_not_simple(3);
  EXPECT_EQ(all.known(7), Known::simple);
  EXPECT_EQ(all.known(3), Known::not_simple);
  EXPECT_EQ(all.known(4), Known::no);
  EXPECT_EQ(list(all.effect(7).returned), Addresses{1});
  EXPECT_EQ(list(all.effect(7).called), Addresses{10});
  all.select(1, 5);
  EXPECT_EQ(all.known(7), Known::simple);
  all.select(1, 6);
  EXPECT_EQ(all.known(7), Known::no);
  all.select(2, 6);
  all.add(7, path);
  all.select(1, 6);
  EXPECT_EQ(all.known(7), Known::no);
}

// The number that tells what is valid from what is not has 16 bits.
TEST(PathSummaries, ForgetsWhatIsOldAfterManyMappings) {
  PathSummaries all;
  all.select(1, 1);
  all.add(7, {});
  all.add_edge(7, {});
  for (std::uint64_t salt = 2; salt < 2 + (1 << 16); ++salt) {
    all.select(1, salt);
    ASSERT_EQ(all.known(7), Known::no) << salt;
    ASSERT_EQ(all.edge(7), nullptr) << salt;
  }
}

TEST(PathSummaries, APathWithTooManyCallsIsNotSimple) {
  PathEffectBuilder path;
  for (std::uint64_t i = 0; i < 31; ++i) path.call(10 + i, 100);
  PathSummaries all;
  all.select(1, 1);
  all.add(1, path);
  EXPECT_EQ(all.known(1), Known::simple);
  path.call(50, 100);
  all.add(1, path);
  EXPECT_EQ(all.known(1), Known::not_simple);
}

}  // namespace
}  // namespace hodo::check
