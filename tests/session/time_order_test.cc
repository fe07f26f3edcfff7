#include "hodo/session/time_order.h"

#include <gtest/gtest.h>

#include "bare_session.h"

namespace hodo::session {
namespace {

// A session that has its branches already: `from` counts through all of them.
class Canned final : public BareSession {
 public:
  explicit Canned(std::vector<std::vector<std::uint64_t>> times)
      : BareSession(times.size()), times_(std::move(times)) {}

  Result<Outcome> packets(const DecodeOptions&, PacketSink&) override { return Outcome{}; }
  Result<Outcome> decode(const DecodeOptions&, BranchSink& sink) override {
    std::uint64_t number = 0;
    for (std::uint32_t q = 0; q < times_.size(); ++q) {
      for (std::uint64_t time : times_[q]) {
        Branch branch{.from = ++number, .time = time};
        sink.branches({.queue = q, .tid = static_cast<std::int32_t>(q)}, std::span(&branch, 1));
      }
    }
    return Outcome{};
  }

 private:
  std::vector<std::vector<std::uint64_t>> times_;
};

class Collect final : public BranchSink {
 public:
  bool branches(const Context& context, std::span<const Branch> batch) override {
    for (const Branch& branch : batch) {
      order.push_back(branch.from);
      EXPECT_EQ(static_cast<std::uint32_t>(context.tid), context.queue);
    }
    return true;
  }
  std::vector<std::uint64_t> order;
};

std::vector<std::uint64_t> ordered(std::vector<std::vector<std::uint64_t>> times) {
  Canned session(std::move(times));
  Collect out;
  EXPECT_TRUE(decode_by_time(session, {}, out).has_value());
  return out.order;
}

TEST(TimeOrder, MergesQueuesByTime) {
  // queue 0: 1@10 2@30 3@50   queue 1: none   queue 2: 4@20 5@30 6@40
  EXPECT_EQ(ordered({{10, 30, 50}, {}, {20, 30, 40}}),
            (std::vector<std::uint64_t>{1, 4, 2, 5, 6, 3}));
}

TEST(TimeOrder, ABranchWithoutATimeStaysBehindTheOneBefore) {
  EXPECT_EQ(ordered({{10, 0, 50}, {20}}), (std::vector<std::uint64_t>{1, 2, 4, 3}));
  EXPECT_EQ(ordered({{50}, {0, 60}}), (std::vector<std::uint64_t>{2, 1, 3}));
}

TEST(TimeOrder, ManyBranchesSurviveTheFile) {
  std::vector<std::uint64_t> even, odd;
  for (std::uint64_t i = 1; i <= 50'000; ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
  }
  auto order = ordered({even, odd});
  ASSERT_EQ(order.size(), 100'000u);
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    ASSERT_EQ(order[2 * i], i + 1);
    ASSERT_EQ(order[2 * i + 1], 50'000 + i + 1);
  }
}

TEST(TimeOrder, NothingIsNothing) { EXPECT_TRUE(ordered({{}, {}}).empty()); }

}  // namespace
}  // namespace hodo::session
