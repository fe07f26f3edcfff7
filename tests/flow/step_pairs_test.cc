#include "step_pairs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace hodo::flow {
namespace {

using Times = std::pair<std::uint64_t, std::uint64_t>;  // how often, and when first

std::map<std::uint32_t, Times> counted(StepPairs& pairs, StepPairs::List list) {
  std::map<std::uint32_t, Times> out;
  pairs.settle(list, [&](std::uint32_t to, std::uint64_t times, std::uint64_t first) {
    EXPECT_TRUE(out.try_emplace(to, times, first).second) << to;
  });
  return out;
}

TEST(StepPairs, CountWhereEachStepLed) {
  std::mt19937 random(1);
  StepPairs pairs;
  std::vector<StepPairs::List> lists(300, StepPairs::kEmpty);
  std::vector<std::map<std::uint32_t, Times>> expected(lists.size());
  for (std::uint64_t time = 1; time < 100'000; ++time) {
    const std::size_t from = random() % lists.size();
    const auto to = static_cast<std::uint32_t>(1 + random() % (1 + 2 * from));
    pairs.count(lists[from], to, time);
    auto& [times, first] = expected[from].try_emplace(to, 0, time).first->second;
    ++times;
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    EXPECT_EQ(counted(pairs, lists[i]), expected[i]) << i;
    EXPECT_TRUE(counted(pairs, lists[i]).empty()) << i;
  }
  // When it was first is known once and for all.
  pairs.count(lists[0], 1, 100'000);
  EXPECT_EQ(counted(pairs, lists[0]),
            (std::map<std::uint32_t, Times>{{1, {1, expected[0][1].second}}}));
  pairs.clear();
  StepPairs::List fresh = StepPairs::kEmpty;
  EXPECT_FALSE(pairs.has(fresh, 1));
  pairs.count(fresh, 1, 7);
  EXPECT_EQ(counted(pairs, fresh), (std::map<std::uint32_t, Times>{{1, {1, 7}}}));
}

TEST(StepPairs, KnowWhatWasAdded) {
  StepPairs pairs;
  StepPairs::List list = StepPairs::kEmpty;
  StepPairs::List other = StepPairs::kEmpty;
  for (std::uint32_t to = 1; to < 4'000; to += 4) {
    EXPECT_FALSE(pairs.has(list, to));
    pairs.add(list, to);
    pairs.add(other, to + 1);
  }
  for (std::uint32_t to = 1; to < 4'000; ++to) {
    EXPECT_EQ(pairs.has(list, to), to % 4 == 1) << to;
    EXPECT_EQ(pairs.has(other, to), to % 4 == 2) << to;
  }
}

// Steps that all belong in one place of most lists: whoever makes traces may choose which they are.
TEST(StepPairs, AreFullBeforeTheyTakeMuchMemory) {
  StepPairs pairs;
  std::vector<StepPairs::List> lists(1 << 12, StepPairs::kEmpty);
  std::size_t fed = 0;
  for (; fed < lists.size() && !pairs.full(); ++fed) {
    for (std::uint32_t i = 1; i <= 8; ++i) pairs.count(lists[fed], i << 16, 1);
    EXPECT_EQ(counted(pairs, lists[fed]).size(), 8);
  }
  EXPECT_TRUE(pairs.full());
  EXPECT_LE(fed, 16);
  pairs.clear();
  EXPECT_FALSE(pairs.full());
}

}  // namespace
}  // namespace hodo::flow
