// Overviews: merging slices, and what comes back out of a cache.
#include "overview.h"

#include <gtest/gtest.h>

#include <random>

#include "call_paths.h"

namespace hodo::serve {
namespace {

Slice slice(std::uint64_t from, std::uint64_t to, std::uint32_t name = 0) {
  return {.from = {from, from}, .to = {to, to}, .branch = from, .name = name};
}

std::uint64_t calls_of(const std::vector<Slice>& row) {
  std::uint64_t out = 0;
  for (const Slice& one : row) out += one.count;
  return out;
}

//  0   4   8      20      30  33
//  [a] [a] [b]    [ long ] [b]
TEST(Overview, MergesWhatFitsIntoAGrain) {
  std::vector<Slice> row{slice(0, 3), slice(4, 7), slice(8, 10, 1), slice(20, 30),
                         slice(30, 33, 1)};
  merge(row, {.time = 10, .instructions = 10});
  ASSERT_EQ(row.size(), 3u);
  EXPECT_EQ(row[0].count, 3u);
  EXPECT_EQ(row[0].to.time, 10u);
  EXPECT_EQ(row[0].name, Slice::kMerged);
  EXPECT_EQ(row[1].count, 1u);
  EXPECT_EQ(row[2].name, 1u);
}

TEST(Overview, MergedCallsOfOneFunctionKeepItsName) {
  std::vector<Slice> row{slice(0, 3, 7), slice(4, 7, 7)};
  merge(row, {.time = 7, .instructions = 7});
  ASSERT_EQ(row.size(), 1u);
  EXPECT_EQ(row[0].name, 7u);
}

// A sleep between two short calls keeps them apart, as does an end that nobody knows.
TEST(Overview, BothAxesCount) {
  std::vector<Slice> row{slice(0, 3), slice(4, 7)};
  row[1].to.time = row[1].from.time = 1000;
  merge(row, {.time = 10, .instructions = 10});
  EXPECT_EQ(row.size(), 2u);
  row = {slice(0, 3), slice(4, 7)};
  row[1].open = true;
  merge(row, {.time = 10, .instructions = 10});
  EXPECT_EQ(row.size(), 2u);
}

TEST(Overview, NothingIsMergedAsLongAsThereIsRoom) {
  std::vector<Slice> row{slice(0, 0), slice(0, 0)};
  merge(row, {});
  EXPECT_EQ(row.size(), 2u);
}

TEST(Overview, GrowsItsGrainUntilThereIsRoom) {
  Lane lane;
  lane.rows.resize(2);
  SliceRoom room(1000);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    lane.rows[i % 2].push_back(slice(i * 10, i * 10 + 5));
    room.count_one();
  }
  ASSERT_TRUE(room.full());
  room.grow({&lane});
  EXPECT_FALSE(room.full());
  EXPECT_LE(lane.rows[0].size() + lane.rows[1].size(), 500u);
  EXPECT_EQ(calls_of(lane.rows[0]) + calls_of(lane.rows[1]), 5000u);
  EXPECT_NE(room.grain().time, 0u);
}

Overview sample() {
  Overview out{.names = {{"main", "/bin/a"}, {"\xff<script>", ""}}, .grain = {64, 128}};
  Lane& lane = out.lanes.emplace_back();
  lane.total = {.thread = {.tid = 42}, .pid = 41, .branches = 9, .instructions = 99};
  lane.nodes.push_back(
      {.name = 1, .parent = 0, .calls = 3, .instructions = 7, .time = 8, .first = 2});
  lane.nodes.push_back({.name = 0, .parent = 1, .calls = 1});
  lane.nodes.push_back({.name = 0, .parent = 0, .calls = 1});
  lane.rows = {{slice(0, 90), slice(95, 96, 1)}, {}, {slice(5, 6, Slice::kMerged)}};
  lane.rows[0][1].open = true;
  lane.marks.push_back({MarkKind::exec, {5, 6}, 7});
  lane.deeper = 5;
  Lane& raw = out.lanes.emplace_back();
  raw.total.thread = {.queue = 3};
  return out;
}

TEST(Overview, ComesBackAsItWas) {
  const Overview was = sample();
  const auto is = read_overview(write_overview(was));
  ASSERT_TRUE(is.has_value());
  EXPECT_EQ(is->names[1].name, was.names[1].name);
  EXPECT_EQ(is->grain.instructions, 128u);
  ASSERT_EQ(is->lanes.size(), 2u);
  const Lane& lane = is->lanes[0];
  EXPECT_EQ(lane.total.thread, was.lanes[0].total.thread);
  EXPECT_EQ(lane.total.pid, 41);
  EXPECT_EQ(lane.deeper, 5u);
  ASSERT_EQ(lane.rows.size(), 3u);
  EXPECT_EQ(lane.rows[0][1].from.time, 95u);
  EXPECT_TRUE(lane.rows[0][1].open);
  EXPECT_EQ(lane.rows[2][0].name, Slice::kMerged);
  ASSERT_EQ(lane.nodes.size(), 4u);
  EXPECT_EQ(lane.nodes[2].parent, 1u);
  EXPECT_EQ(lane.nodes[3].parent, 0u);
  EXPECT_EQ(lane.nodes[1].first, 2u);
  ASSERT_EQ(lane.marks.size(), 1u);
  EXPECT_EQ(lane.marks[0].kind, MarkKind::exec);
  EXPECT_EQ(is->lanes[1].total.thread, (ask::ThreadId{.queue = 3}));
  EXPECT_EQ(is->lanes[1].total.pid, -1);
}

TEST(Overview, IsRefusedWhereItIsCutOff) {
  const std::vector<std::uint8_t> whole = write_overview(sample());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_overview(std::span(whole).first(size)).has_value()) << size;
  }
}

// Anybody may have written it: whatever is read can be walked through.
TEST(Overview, MadeUpOnesDoNoHarm) {
  const std::vector<std::uint8_t> whole = write_overview(sample());
  std::mt19937 random(7);
  std::size_t read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::uint8_t> bytes = whole;
    for (int n = 0; n < 3; ++n) {
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    }
    const auto made_up = read_overview(bytes);
    if (!made_up) continue;
    ++read;
    const CallPaths paths =
        paths_of(made_up->lanes, made_up->names, [](const ThreadTotal&) { return true; });
    for (const PathNode& node : paths.nodes) {
      EXPECT_LT(node.parent, paths.nodes.size());
      EXPECT_LE(node.name, paths.names.size());
    }
    for (const Lane& lane : made_up->lanes) {
      for (const auto& row : lane.rows) {
        for (std::size_t k = 1; k < row.size(); ++k) {
          EXPECT_LE(row[k - 1].to.time, row[k].from.time);
          EXPECT_LE(row[k - 1].branch, row[k].branch);
        }
      }
    }
  }
  EXPECT_GT(read, 100u);
}

}  // namespace
}  // namespace hodo::serve
