// Threads merged while they are decoded, against each thread's branches sorted afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <tuple>

#include "bare_session.h"
#include "hodo/session/time_order.h"
#include "pt/decoding.h"

namespace hodo::session {
namespace {

// JMP RAX everywhere, so that each TIP is a branch.
class Jumps final : public image::CodeSource {
 public:
  image::CodeSpan find(std::uint64_t address, std::uint64_t) const override {
    static constexpr std::array<std::uint8_t, 2> kJump = {0xff, 0xe0};
    return {.content = 1, .address = address & ~std::uint64_t{1}, .bytes = kJump};
  }
};

class Stream {
 public:
  Stream& psb(std::uint64_t time) {
    for (int i = 0; i < 8; ++i) raw({0x02, 0x82});
    tsc(time);
    return raw({0x99, 0x01, 0x7d}).number(ip_, 6).raw({0x02, 0x23});
  }
  Stream& tsc(std::uint64_t time) { return raw({0x19}).number(time, 7); }
  Stream& tip(std::uint64_t to) {
    ip_ = to;
    return raw({0x6d}).number(to, 6);
  }
  Stream& raw(std::initializer_list<std::uint8_t> more) {
    bytes.insert(bytes.end(), more);
    return *this;
  }
  std::vector<std::uint8_t> bytes;

 private:
  Stream& number(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) raw({static_cast<std::uint8_t>(value >> 8 * i)});
    return *this;
  }
  std::uint64_t ip_ = 0x1000;
};

class Recorded final : public DecodingSession<BareSession> {
 public:
  explicit Recorded(std::vector<Stream> streams) : streams_(std::move(streams)) {
    for (const Stream& stream : streams_) queues_.push_back({.bytes = stream.bytes.size()});
  }
  std::unique_ptr<TraceReader> trace_of(std::size_t queue, StreamRange range) override {
    // The file has one after the other, 64 KiB for each.
    return std::make_unique<PlainTrace>(
        within({{.file_offset = queue << 16, .size = streams_[queue].bytes.size()}}, range),
        [this](std::uint64_t offset, std::span<std::uint8_t> out) -> Status {
          const auto& bytes = streams_[static_cast<std::size_t>(offset >> 16)].bytes;
          std::ranges::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset & 0xffff),
                              static_cast<std::ptrdiff_t>(out.size()), out.begin());
          return {};
        });
  }
  Occupancy occupancy(std::size_t queue) override {
    return Occupancy({{.pid = 1, .tid = static_cast<std::int32_t>(queue), .space = 0}});
  }
  std::unique_ptr<image::CodeSource> code(std::size_t, const Occupancy&) override {
    return std::make_unique<Jumps>();
  }
  flow::Config config(std::size_t, const Occupancy&) override { return {}; }
  std::optional<Explanation> explain(const Context&, const flow::Loss&) override { return {}; }

 private:
  std::vector<Stream> streams_;
};

struct Seen {
  std::uint64_t order;
  std::uint32_t queue;
  std::uint64_t from, to, time;
  bool operator==(const Seen&) const = default;
};

class Collect final : public BranchSink {
 public:
  explicit Collect(std::size_t most = ~std::size_t{0}) : most_(most) {}
  bool branches(const Context& who, std::span<const Branch> batch) override {
    EXPECT_EQ(who.tid, static_cast<std::int32_t>(who.queue));
    EXPECT_FALSE(batch.empty());
    for (const Branch& b : batch) {
      std::uint64_t& order = order_[who.queue];
      order = std::max(order, b.time);
      seen.push_back({order, who.queue, b.from, b.to, b.time});
    }
    return seen.size() < most_;
  }
  std::vector<Seen> seen;

 private:
  std::size_t most_;
  std::map<std::uint32_t, std::uint64_t> order_;
};

// Threads that begin at any time and go on in steps of time that are often the same.
std::vector<Stream> random_streams(std::mt19937& random, std::size_t count) {
  std::vector<Stream> streams(count);
  for (Stream& stream : streams) {
    std::uint64_t time = 1000 + random() % 500;
    for (std::uint64_t part = 0, parts = random() % 40; part < parts; ++part) {
      stream.psb(time);
      for (std::uint64_t i = random() % 30; i-- > 0;) {
        if (random() % 3 == 0) stream.tsc(time += random() % 20);
        stream.tip(0x1000 + 2 * (random() % 64));
      }
      if (random() % 16 == 0) stream.raw({0x02, 0xff});  // no packet: up to the next PSB
    }
  }
  return streams;
}

TEST(ByTime, SaysWhatSortingSays) {
  std::mt19937 random(18);
  for (int round = 0; round < 20; ++round) {
    Recorded recorded(random_streams(random, 2 + random() % 6));
    Collect merged;
    const auto by_time = decode_by_time(recorded, {}, merged);
    Collect expected;
    const auto by_queue = recorded.decode({.threads = 1}, expected);
    ASSERT_TRUE(by_time && by_queue);
    std::ranges::stable_sort(expected.seen, {},
                             [](const Seen& s) { return std::pair(s.order, s.queue); });
    EXPECT_EQ(merged.seen, expected.seen) << "round " << round;
    EXPECT_EQ(by_time->stats.branches, by_queue->stats.branches);
    EXPECT_EQ(by_time->stats.instructions, by_queue->stats.instructions);
    EXPECT_EQ(by_time->stats.packets, by_queue->stats.packets);
    EXPECT_EQ(by_time->stats.total_losses(), by_queue->stats.total_losses());
    for (std::size_t q = 0; q < recorded.queues().size(); ++q) {
      EXPECT_EQ(by_time->queue_stats[q].instructions, by_queue->queue_stats[q].instructions);
    }
    ASSERT_EQ(by_time->losses.size(), by_queue->losses.size());
    for (std::size_t i = 0; i < by_time->losses.size(); ++i) {
      const LossLine& one = by_time->losses[i];
      const LossLine& other = by_queue->losses[i];
      EXPECT_EQ(std::tie(one.cause, one.count, one.bytes),
                std::tie(other.cause, other.count, other.bytes));
      EXPECT_EQ(one.sites.size(), other.sites.size());
    }
  }
}

TEST(ByTime, LeavesOutWhoWasNotSelectedAndStopsWhenAsked) {
  std::mt19937 random(3);
  Recorded recorded(random_streams(random, 5));
  Collect all;
  ASSERT_TRUE(decode_by_time(recorded, {}, all));
  Collect one;
  ASSERT_TRUE(decode_by_time(recorded, {.selection = {.tid = 2}}, one));
  std::erase_if(all.seen, [](const Seen& s) { return s.queue != 2; });
  EXPECT_EQ(one.seen, all.seen);
  Collect first(1);
  ASSERT_TRUE(decode_by_time(recorded, {}, first));
  EXPECT_LT(first.seen.size(), 200u) << "at most what one segment has";
}

}  // namespace
}  // namespace hodo::session
