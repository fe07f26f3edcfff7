#include "hodo/image/timeline.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace hodo::image {
namespace {

constexpr auto kEnd = Timeline::kEnd;

TEST(Timeline, WithoutEventsNothingIsEverywhere) {
  const Timeline timeline;
  const auto answer = timeline.find(1234, 5);
  EXPECT_EQ(answer.value, Timeline::kNothing);
  EXPECT_EQ(answer.first, 0u);
  EXPECT_EQ(answer.last, kEnd);
  EXPECT_EQ(answer.valid_from, 0u);
  EXPECT_EQ(answer.valid_until, kEnd);
}

// time    address 10 .. 19 | 20 .. 29 | 30 .. 39
//   5          1      1    |          |
//   7                      |    2     |
//   9                 3    |    3     |    3        (15 .. 34)
TEST(Timeline, ALaterEventHidesWhatItCoversAndNoMore) {
  Timeline timeline;
  timeline.cover(10, 19, 5, 1);
  timeline.cover(20, 29, 7, 2);
  timeline.cover(15, 34, 9, 3);
  EXPECT_EQ(timeline.find(9, 100).value, Timeline::kNothing);
  EXPECT_EQ(timeline.find(10, 4).value, Timeline::kNothing);
  EXPECT_EQ(timeline.find(10, 4).valid_until, 5u);
  EXPECT_EQ(timeline.find(10, 5).value, 1u);
  EXPECT_EQ(timeline.find(14, 100).value, 1u);
  EXPECT_EQ(timeline.find(15, 8).value, 1u);
  EXPECT_EQ(timeline.find(15, 8).valid_from, 5u);
  EXPECT_EQ(timeline.find(15, 8).valid_until, 9u);
  EXPECT_EQ(timeline.find(15, 9).value, 3u);
  EXPECT_EQ(timeline.find(29, 8).value, 2u);
  EXPECT_EQ(timeline.find(34, 9).value, 3u);
  EXPECT_EQ(timeline.find(35, 9).value, Timeline::kNothing);
}

TEST(Timeline, OfEquallyOldEventsTheOneAddedLastCounts) {
  Timeline timeline;
  timeline.cover(0, 9, 5, 1);
  timeline.cover(0, 9, 5, 2);
  EXPECT_EQ(timeline.find(3, 5).value, 2u);
}

TEST(Timeline, ReachesTheEndOfTheAddressSpace) {
  Timeline timeline;
  timeline.cover(kEnd - 1, kEnd, 0, 1);
  timeline.cover(kEnd, kEnd, 1, 2);
  timeline.cover(5, 4, 1, 3);  // no range at all
  EXPECT_EQ(timeline.find(kEnd, 0).value, 1u);
  EXPECT_EQ(timeline.find(kEnd, 1).value, 2u);
  EXPECT_EQ(timeline.find(kEnd - 1, 1).value, 1u);
  EXPECT_EQ(timeline.find(kEnd - 2, 1).value, Timeline::kNothing);
  EXPECT_EQ(timeline.find(5, 1).value, Timeline::kNothing);
}

TEST(Timeline, TakesEventsAfterAnswers) {
  Timeline timeline;
  timeline.cover(0, 9, 5, 1);
  EXPECT_EQ(timeline.find(3, 9).value, 1u);
  timeline.cover(3, 3, 6, 2);
  EXPECT_EQ(timeline.find(3, 9).value, 2u);
}

// The obvious way: look at every event.
struct Reference {
  struct Event {
    std::uint64_t first, last, time;
    Timeline::Value value;
  };
  std::vector<Event> events;

  Timeline::Answer find(std::uint64_t address, std::uint64_t time) const {
    Timeline::Answer answer;
    bool any = false;
    for (const Event& e : events) {
      if (address < e.first || address > e.last) continue;
      if (e.time > time) {
        answer.valid_until = std::min(answer.valid_until, e.time);
      } else if (!any || e.time >= answer.valid_from) {
        any = true;
        answer.valid_from = e.time;
        answer.value = e.value;
      }
    }
    return answer;
  }
};

TEST(Timeline, AgreesWithLookingAtEveryEvent) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    Timeline timeline;
    Reference reference;
    const std::uint64_t space = 1 + random() % 200;
    const auto events = static_cast<Timeline::Value>(random() % 60);
    for (Timeline::Value v = 0; v < events; ++v) {
      const auto first = random() % space;
      const auto last = random() % 8 == 0 ? kEnd : first + random() % (space / 2 + 1);
      const auto time = random() % 30;
      timeline.cover(first, last, time, v);
      reference.events.push_back({first, last, time, v});
    }
    for (std::uint64_t address = 0; address < 2 * space; ++address) {
      for (std::uint64_t time = 0; time < 32; ++time) {
        const auto got = timeline.find(address, time);
        const auto want = reference.find(address, time);
        ASSERT_EQ(got.value, want.value) << seed << ' ' << address << ' ' << time;
        ASSERT_EQ(got.valid_from, want.valid_from);
        ASSERT_EQ(got.valid_until, want.valid_until);
        ASSERT_LE(got.first, address);
        ASSERT_GE(got.last, address);
        ASSERT_EQ(reference.find(got.first, time).value, want.value);
        ASSERT_EQ(reference.find(got.last, time).value, want.value);
      }
    }
  }
}

TEST(Timeline, AnswersSeveralThreadsThatAskFirstTogether) {
  Timeline timeline;
  for (Timeline::Value v = 0; v < 1000; ++v) timeline.cover(v * 10, v * 10 + 9, v, v);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (auto& w : wrong) {
    threads.emplace_back([&timeline, &w] {
      for (Timeline::Value v = 0; v < 1000; ++v) w += timeline.find(v * 10 + 5, 2000).value != v;
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
}  // namespace hodo::image
