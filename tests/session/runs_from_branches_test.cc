#include "stream/runs_from_branches.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <vector>

namespace hodo::session {
namespace {

struct Counted final : RunSink {
  bool runs(const Context& context, std::span<const flow::RunCount> batch) override {
    ++batches;
    for (const flow::RunCount& run : batch) {
      counts[{context.pid, run.time, run.begin, run.edge.from, run.edge.to}] += run.edge.count;
      ++told;
    }
    return true;
  }
  std::map<std::tuple<std::int32_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>,
           std::uint64_t>
      counts;
  std::size_t told = 0, batches = 0;
};

// A loop of two branches, from 0x10 to 0x20 and from 0x28 to 0x8.
std::vector<Branch> loop(int times, std::uint64_t time) {
  std::vector<Branch> out;
  for (int i = 0; i < times; ++i) {
    out.push_back({.from = 0x10, .to = 0x20, .time = time, .insns = 3, .kind = BranchKind::cond});
    out.push_back({.from = 0x28, .to = 0x8, .time = time, .insns = 2, .kind = BranchKind::jmp});
  }
  return out;
}

TEST(RunsFromBranches, PutsTogetherWhatIsTheSameAtOneTime) {
  Counted counted;
  RunsFromBranches runs(counted);
  runs.branches({.pid = 1}, loop(1000, 7));
  runs.branches({.pid = 1}, loop(500, 7));
  runs.branches({.pid = 1}, loop(10, 8));
  runs.branches({.pid = 2}, loop(20, 8));
  runs.finish();
  EXPECT_EQ((counted.counts[{1, 7, 0, 0x10, 0x20}]),
            1u);  // nobody knows where the first line began
  EXPECT_EQ((counted.counts[{1, 7, 8, 0x10, 0x20}]), 1499u);
  EXPECT_EQ((counted.counts[{1, 7, 0x20, 0x28, 0x8}]), 1500u);
  EXPECT_EQ((counted.counts[{1, 8, 8, 0x10, 0x20}]), 10u);
  EXPECT_EQ((counted.counts[{2, 8, 8, 0x10, 0x20}]), 20u);
  EXPECT_EQ(counted.told, 3u + 2 + 2);
  EXPECT_EQ(counted.batches, 3u);
}

TEST(RunsFromBranches, AnotherQueueBeginsWithoutALine) {
  Counted counted;
  RunsFromBranches runs(counted);
  runs.branches({.queue = 0, .pid = 1}, loop(3, 7));
  runs.branches({.queue = 1, .pid = 1}, loop(3, 7));
  runs.finish();
  EXPECT_EQ((counted.counts[{1, 7, 0, 0x10, 0x20}]), 2u);
  EXPECT_EQ((counted.counts[{1, 7, 8, 0x10, 0x20}]), 4u);
}

TEST(RunsFromBranches, HandsOnAtTimesHoweverMuchIsNew) {
  Counted counted;
  RunsFromBranches runs(counted);
  std::vector<Branch> straight;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    straight.push_back({.from = 16 * i + 8, .to = 16 * i + 16, .time = 7, .kind = BranchKind::jmp});
  }
  runs.branches({}, straight);
  runs.finish();
  EXPECT_EQ(counted.counts.size(), straight.size());
  EXPECT_GT(counted.batches, 10u);
}

}  // namespace
}  // namespace hodo::session
