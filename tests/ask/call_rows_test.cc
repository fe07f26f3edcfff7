// Rows of calls as bytes.
#include "call_rows.h"

#include <gtest/gtest.h>

namespace hodo::ask {
namespace {

constexpr std::uint64_t kLargest = ~std::uint64_t{0};

std::vector<KeptFunction> functions() {
  return {{.function = {.name = "main", .object = "/bin/a"}, .called = true, .rows = 0},
          {.function = {.name = "often", .object = "/bin/a"}, .called = true},
          {.function = {.name = "[a+0x10]", .synthetic = true}, .called = true, .rows = 0}};
}

// Two threads, the least and the largest numbers, and a caller that nobody knows.
std::vector<KeptRow> some_rows() {
  using Outcome = CallRow::Outcome;
  return {{.row = {.at = {{.tid = 7}, 3, 0},
                   .until = {{.tid = 7}, 3, 0},
                   .pid = -1,
                   .function = 2,
                   .caller = kNobody,
                   .outcome = Outcome::lost},
           .begun = 2,
           .ended = 1},
          {.row = {.at = {{.queue = 5}, kLargest, 0},
                   .until = {{.queue = 5}, kLargest, 0},
                   .pid = 7,
                   .time = kLargest,
                   .duration = kLargest,
                   .instructions = kLargest,
                   .function = 0,
                   .caller = 2,
                   .site = kLargest,
                   .space = ~std::uint32_t{0},
                   .ticks = kLargest,
                   .outcome = Outcome::open},
           .begun = 1,
           .ended = 2},
          {.row = {.at = {{.tid = 7}, 1, 0},
                   .until = {{.tid = 7}, 9, 0},
                   .pid = -1,
                   .time = 1,
                   .function = 2,
                   .caller = 0,
                   .site = 0x401000,
                   .outcome = Outcome::returned},
           .begun = 3,
           .ended = 9}};
}

std::vector<std::uint8_t> written() {
  CallRowsWriter out;
  for (const KeptRow& row : some_rows()) out.add(row);
  return out.take(functions());
}

auto fields(const KeptRow& kept) {
  const CallRow& row = kept.row;
  return std::tuple(kept.begun, kept.ended, row.at, row.until, row.pid, row.time, row.duration,
                    row.instructions, row.function, row.caller, row.site, row.space, row.ticks,
                    row.outcome);
}

TEST(CallRows, AreReadByFunction) {
  const auto bytes = written();
  const auto all = CallRowsReader::open(bytes);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->functions().size(), 3u);
  EXPECT_EQ(all->functions()[2].function.name, "[a+0x10]");
  EXPECT_TRUE(all->functions()[2].function.synthetic);
  EXPECT_TRUE(all->functions()[1].called);
  EXPECT_FALSE(all->functions()[1].rows);
  std::vector<KeptRow> read;
  ASSERT_TRUE(all->read(2, read));
  ASSERT_TRUE(all->read(0, read));
  const auto rows = some_rows();
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(fields(read[0]), fields(rows[0]));
  EXPECT_EQ(fields(read[1]), fields(rows[2]));
  EXPECT_EQ(fields(read[2]), fields(rows[1]));
}

TEST(CallRows, CutOffAnywhereAreRefused) {
  const auto bytes = written();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(CallRowsReader::open(std::span(bytes).first(size))) << size;
  }
}

// Whatever a byte becomes: callers are functions that there are, and no room is taken for rows that
// cannot be there.
TEST(CallRows, AnyByteMayBeAnother) {
  const auto bytes = written();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      auto bad = bytes;
      bad[at] = static_cast<std::uint8_t>(value);
      const auto all = CallRowsReader::open(bad);
      if (!all) continue;
      std::vector<KeptRow> read;
      for (std::uint32_t i = 0; i < all->functions().size(); ++i) {
        if (all->functions()[i].rows) (void)all->read(i, read);
      }
      EXPECT_LE(read.size(), bytes.size());
      for (const KeptRow& kept : read) {
        EXPECT_TRUE(kept.row.caller == kNobody || kept.row.caller < all->functions().size());
        EXPECT_LE(kept.row.outcome, CallRow::Outcome::open);
      }
    }
  }
}

}  // namespace
}  // namespace hodo::ask
