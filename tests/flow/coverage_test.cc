// Where a path has been, without its order.
#include "hodo/flow/coverage.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "fixture.h"

namespace hodo::flow {
namespace {

using testing::ElementsAre;
using testing::Pair;

//  1000 nop; 1001 jz 1000; 1007 call 1020; 100c syscall      1020 ret
Code loop() {
  Code code;
  code.at(0x1000).nop().jz(0x1000).call(0x1020).syscall();
  code.at(0x1020).ret();
  return code;
}

// Three times round, then through the call and out.
Trace three_rounds() { return Trace().psb(0x1000).tnt("TTN").tip(0x100c).pgd(); }

std::string text(const EdgeCount& edge) {
  return std::string(name(edge.kind)) + ((edge.flags & kNotTaken) != 0 ? "-" : "") + " " +
         std::to_string(edge.from & 0xfff) + ">" + std::to_string(edge.to & 0xfff) + " x" +
         std::to_string(edge.count);
}

template <class Sink>
Stats cover(const Code& code, const Trace& trace, Sink& sink, int times = 1) {
  Decoder decoder(code, {});
  const Piece piece{.bytes = trace.bytes()};
  Stats stats;
  for (int i = 0; i < times; ++i) stats = decoder.cover(std::span(&piece, 1), sink);
  return stats;
}

TEST(Coverage, EdgeSetCountsEveryEdge) {
  EdgeSet set;
  cover(loop(), three_rounds(), set, 2);
  std::vector<std::string> edges;
  for (const EdgeCount& edge : set.edges()) edges.push_back(text(edge));
  EXPECT_THAT(edges, ElementsAre("begin 0>0 x2", "cond 1>0 x4", "cond- 1>7 x2", "call 7>32 x2",
                                 "syscall 12>0 x2", "ret 32>12 x2"));
}

// The least time that is told of a run is when it ran first, the sum is what it ran in all.
TEST(Coverage, RunsHaveTheirBeginAndTheirFirstTime) {
  struct Runs final : RunSink {
    void on_runs(std::span<const RunCount> runs) override {
      for (const auto& [edge, begin, time, insns] : runs) {
        EXPECT_GT(insns + (edge.from == 0 ? 1 : 0), 0u);
        auto [known, fresh] = all.try_emplace({begin, edge.from, edge.to}, time, 0);
        known->second.first = std::min(known->second.first, time);
        known->second.second += edge.count;
      }
    }
    std::map<std::array<std::uint64_t, 3>, std::pair<std::uint64_t, std::uint64_t>> all;
  } runs;
  using enum pt::PacketType;
  const Trace trace = Trace()
                          .psb(0x1000)
                          .plain(tsc, 100)
                          .tnt("TTN")
                          .plain(tsc, 200)
                          .tip(0x100c)
                          .pgd()
                          .pge(0x1000)
                          .tnt("TTN");
  cover(loop(), trace, runs);
  EXPECT_THAT(runs.all, ElementsAre(Pair(ElementsAre(0, 0, 0x1000), Pair(0, 2)),
                                    Pair(ElementsAre(0x1000, 0x1001, 0x1000), Pair(100, 4)),
                                    Pair(ElementsAre(0x1000, 0x1001, 0x1007), Pair(100, 2)),
                                    Pair(ElementsAre(0x1007, 0x1007, 0x1020), Pair(200, 1)),
                                    Pair(ElementsAre(0x100c, 0x100c, 0), Pair(200, 1)),
                                    Pair(ElementsAre(0x1020, 0x1020, 0x100c), Pair(200, 1))));
}

// The same edges over other code: how often each ran, by the time when it ran first.
TEST(Coverage, RunsOfReplacedCodeAreCountedApart) {
  struct Runs final : RunSink {
    void on_runs(std::span<const RunCount> runs) override {
      for (const RunCount& run : runs) {
        if (run.edge.kind == BranchKind::call) (run.time < 300 ? before : after) += run.edge.count;
      }
    }
    std::uint64_t before = 0, after = 0;
  } runs;
  Code code;
  for (const auto& [from, until] : {std::pair<std::uint64_t, std::uint64_t>(0, 300), {300, 999}}) {
    code.at(0x1000).during(from, until).nop().jz(0x1000).call(0x1020).syscall();
    code.at(0x1020).during(from, until).ret();
  }
  using enum pt::PacketType;
  Trace trace;
  trace.psb(0x1000);
  for (const std::uint64_t time : {100, 200, 300, 400, 500}) {
    trace.plain(tsc, time).tnt("TTN").tip(0x100c).pgd().pge(0x1000);
  }
  cover(code, trace, runs);
  EXPECT_EQ(runs.before, 2u);
  EXPECT_EQ(runs.after, 3u);
}

TEST(Coverage, BlockSetCountsEveryEntry) {
  BlockSet set;
  cover(loop(), three_rounds(), set);
  EXPECT_THAT(set.blocks(),
              ElementsAre(Pair(0x1000, 3), Pair(0x1007, 1), Pair(0x100c, 1), Pair(0x1020, 1)));
}

TEST(Coverage, BitmapCountsAndStopsAt255) {
  std::array<std::uint8_t, 1 << 12> map{};
  Bitmap bitmap(map);
  cover(loop(), three_rounds(), bitmap, 127);
  EXPECT_EQ(map[Bitmap::index(0x1001, 0x1000, map.size())], 254);
  EXPECT_EQ(map[Bitmap::index(0x1001, 0x1007, map.size())], 127);
  cover(loop(), three_rounds(), bitmap);
  EXPECT_EQ(map[Bitmap::index(0x1001, 0x1000, map.size())], 255);
  EXPECT_EQ(std::ranges::count_if(map, [](std::uint8_t count) { return count != 0; }), 4);
}

TEST(Coverage, NumbersAreThoseOfTheFullDecoding) {
  struct Nobody final : Listener {
    void on_loss(const Loss&) override {}
  } nobody;
  const Code code = loop();
  const Trace trace = three_rounds();
  const Decoded full = decode(code, trace);
  EdgeSet set;
  const Piece piece{.bytes = trace.bytes()};
  const Stats counted = Decoder(code, {}).count(std::span(&piece, 1), nobody);
  const Stats covered = cover(code, trace, set);
  for (const Stats& stats : {counted, covered}) {
    EXPECT_EQ(stats.instructions, full.stats.instructions);
    EXPECT_EQ(stats.branches, full.stats.branches);
    EXPECT_EQ(stats.not_taken, full.stats.not_taken);
    EXPECT_EQ(stats.packets, full.stats.packets);
  }
}

TEST(Coverage, ABlockReachesThroughItsBranch) {
  const Code code = loop();
  const auto extent = block_extent(code, 0x1000, isa::Mode::bits64);
  ASSERT_TRUE(extent);
  EXPECT_EQ(extent->bytes, 7u);
  EXPECT_EQ(extent->instructions, 2u);
  EXPECT_FALSE(block_extent(code, 0x2000, isa::Mode::bits64));
}

}  // namespace
}  // namespace hodo::flow
