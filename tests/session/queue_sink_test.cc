// Attribution of a queue's branches to those who ran.
#include "stream/queue_sink.h"

#include <gtest/gtest.h>

#include "pt/switched_source.h"

namespace hodo::session {
namespace {

class Collect final : public BranchSink {
 public:
  bool branches(const Context& context, std::span<const Branch> batch) override {
    for (const Branch& branch : batch) seen.emplace_back(context.tid, branch.from);
    return seen.size() < enough;
  }
  std::vector<std::pair<std::int32_t, std::uint64_t>> seen;
  std::size_t enough = 1000;
};

// time   0 ....... 100 ....... 200 ...
// tid    unknown   7           8
Occupancy two_turns() {
  return Occupancy({{.from = 100, .pid = 1, .tid = 7, .space = 0},
                    {.from = 150, .pid = 1, .tid = 7, .space = 0},
                    {.from = 200, .pid = 2, .tid = 8, .space = 1}});
}

std::optional<Explanation> no_explanation(const Context&, const flow::Loss&) {
  return std::nullopt;
}

TEST(Occupancy, StartsAtZeroAndDropsTurnsThatChangeNothing) {
  Occupancy occupancy = two_turns();
  ASSERT_EQ(occupancy.turns().size(), 3u);
  EXPECT_EQ(occupancy.turns()[occupancy.at(0)].tid, -1);
  EXPECT_EQ(occupancy.turns()[occupancy.at(99)].tid, -1);
  EXPECT_EQ(occupancy.turns()[occupancy.at(100)].tid, 7);
  EXPECT_EQ(occupancy.turns()[occupancy.at(199)].tid, 7);
  EXPECT_EQ(occupancy.turns()[occupancy.at(200)].tid, 8);
  EXPECT_EQ(occupancy.until(1), 200u);
  EXPECT_EQ(occupancy.until(2), perfdata::kForever);
}

TEST(QueueSink, SplitsABatchWhereTheTaskChanges) {
  Occupancy occupancy = two_turns();
  Collect out;
  LossTally losses;
  QueueSink sink({{}, occupancy, {}, losses, no_explanation, [](std::uint64_t) { return true; }},
                 out);
  const std::vector<Branch> batch{{.from = 1, .time = 120},
                                  {.from = 2, .time = 0},  // no time: as the one before
                                  {.from = 3, .time = 199},
                                  {.from = 4, .time = 200},
                                  {.from = 5, .time = 0}};
  sink.on_branches(batch);
  EXPECT_EQ(out.seen, (std::vector<std::pair<std::int32_t, std::uint64_t>>{
                          {7, 1}, {7, 2}, {7, 3}, {8, 4}, {8, 5}}));
}

TEST(QueueSink, HandsOnOnlyWhatIsSelected) {
  Occupancy occupancy = two_turns();
  Collect out;
  LossTally losses;
  QueueSink sink(
      {{}, occupancy, {.tid = 8}, losses, no_explanation, [](std::uint64_t) { return true; }}, out);
  sink.on_branches(std::vector<Branch>{{.from = 1, .time = 120}, {.from = 4, .time = 200}});
  ASSERT_EQ(out.seen.size(), 1u);
  EXPECT_EQ(out.seen[0].first, 8);
  sink.on_loss({.time = 120, .reason = "of somebody else"});
  EXPECT_TRUE(losses.lines().empty());
  sink.on_loss({.time = 250, .reason = "of the selected one"});
  EXPECT_EQ(losses.lines().size(), 1u);
}

// What is not written out is of one task's branches alone: a batch of several is cut.
struct WantsTwo final : BranchSink {
  std::size_t repeated = 0;
  std::size_t passed = 0;
  bool branches(const Context&, std::span<const Branch>) override { return true; }
  bool wants_repeats() const override { return true; }
  bool repeats(const Context&, const flow::Repeats& batch) override {
    repeated += batch.list.size();
    return repeated < 2;
  }
  bool wants_passages() const override { return true; }
  bool passages(const Context&, const flow::Passages& batch) override {
    passed += batch.list.size();
    return passed < 2;
  }
};

TEST(QueueSink, HasNeitherRepeatsNorPassagesWhereSeveralTasksRun) {
  LossTally losses;
  const Occupancy several = two_turns();
  WantsTwo out;
  const QueueSink sink(
      {{}, several, {}, losses, no_explanation, [](std::uint64_t) { return true; }}, out);
  EXPECT_FALSE(sink.wants_repeats());
  EXPECT_FALSE(sink.wants_passages());
}

TEST(QueueSink, HandsRepeatsAndPassagesOnWhereOneTaskRuns) {
  LossTally losses;
  const auto progress = [](std::uint64_t) { return true; };
  const Occupancy one;
  WantsTwo out;
  QueueSink of_repeats({{}, one, {}, losses, no_explanation, progress}, out);
  QueueSink of_passages({{}, one, {}, losses, no_explanation, progress}, out);
  EXPECT_TRUE(of_repeats.wants_repeats());
  EXPECT_TRUE(of_passages.wants_passages());
  const std::vector<flow::Repeat> repeats = {{.path = 4, .count = 1}};
  const std::vector<flow::Passage> passages = {{.branches = 1}};
  for (int i = 0; i < 3; ++i) {
    of_repeats.on_repeats({.list = repeats, .memory = 1});
    of_passages.on_passages({.list = passages});
  }
  EXPECT_EQ(out.repeated, 2u);
  EXPECT_EQ(out.passed, 2u);
  EXPECT_TRUE(of_repeats.stopped());
  EXPECT_TRUE(of_passages.stopped());
}

TEST(QueueSink, StopsTheDecoderWhenNoMoreIsWanted) {
  Occupancy occupancy;
  Collect out;
  out.enough = 1;
  LossTally losses;
  std::uint64_t reached = 0;
  const auto progress = [&](std::uint64_t offset) {
    reached = offset;
    return offset != 7;
  };
  QueueSink sink({{}, occupancy, {}, losses, no_explanation, progress}, out);
  EXPECT_FALSE(sink.on_progress(7)) << "whoever hears of the progress wants to stop";
  EXPECT_TRUE(sink.on_progress(10));
  sink.on_branches(std::vector<Branch>{{.from = 1}});
  EXPECT_FALSE(sink.on_progress(20));
  EXPECT_EQ(reached, 20u);
  sink.on_branches(std::vector<Branch>{{.from = 2}});
  EXPECT_EQ(out.seen.size(), 1u) << "nothing comes after a stop";
}

TEST(QueueSink, AnExplanationReplacesTheDecodersCause) {
  Occupancy occupancy;
  Collect out;
  LossTally losses;
  auto explain = [](const Context&, const flow::Loss&) {
    return Explanation{causes::kFileChanged, "another file"};
  };
  QueueSink sink({{}, occupancy, {}, losses, explain, [](std::uint64_t) { return true; }}, out);
  sink.on_loss({.cause = flow::LossCause::no_code, .offset = 5, .skipped = 9});
  ASSERT_EQ(losses.lines().size(), 1u);
  EXPECT_EQ(losses.lines()[0].cause, causes::kFileChanged);
  EXPECT_EQ(losses.lines()[0].bytes, 9u);
  EXPECT_EQ(losses.lines()[0].sites[0].reason, "another file");
}

// A code source with one span everywhere.
class Everywhere final : public image::CodeSource {
 public:
  explicit Everywhere(std::uint64_t content) : content_(content) {}
  image::CodeSpan find(std::uint64_t, std::uint64_t) const override {
    return {.content = content_};
  }

 private:
  std::uint64_t content_;
};

TEST(SwitchedSource, AnswersForWhoeverRunsAndOnlyForTheTurn) {
  Occupancy occupancy = two_turns();
  Everywhere first(1), second(2), kernel(3);
  SwitchedSource source(occupancy, {nullptr, &first, &second}, &kernel);
  EXPECT_EQ(source.find(0x1000, 50).content, 0u);
  EXPECT_EQ(source.find(0x1000, 50).valid_until, 100u);
  EXPECT_EQ(source.find(0x1000, 150).content, 1u);
  EXPECT_EQ(source.find(0x1000, 150).valid_from, 100u);
  EXPECT_EQ(source.find(0x1000, 150).valid_until, 200u);
  EXPECT_EQ(source.find(0x1000, 200).content, 2u);
  EXPECT_EQ(source.find(0xffffffff81000000, 50).content, 3u);
}

}  // namespace
}  // namespace hodo::session
