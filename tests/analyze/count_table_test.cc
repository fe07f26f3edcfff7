#include "hodo/analyze/count_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace hodo::analyze {
namespace {

struct Row {
  std::uint32_t key = 0;
  std::uint64_t count = 0;
};
std::size_t hash(const Row& row) { return row.key / 4; }  // four with each hash
bool same(const Row& a, const Row& b) { return a.key == b.key; }
void add_up(Row& into, const Row& row) { into.count += row.count; }

TEST(CountTable, AddsUpInTheOrderInWhichRowsCame) {
  CountTable<Row> table(1 << 20);
  std::map<std::uint32_t, std::uint64_t> expected;
  std::vector<std::uint32_t> order;
  std::mt19937 random(1);  // NOLINT: the same each time
  for (std::size_t batch = 0; batch < 100; ++batch) {
    CountTable<Row>::Batch rows(table);
    for (std::size_t i = 0; i < batch * 10 % 700; ++i) {
      const Row row{.key = static_cast<std::uint32_t>(random() % 3'000), .count = 1 + i};
      const auto [at, is_new] = expected.try_emplace(row.key, 0);
      if (is_new) order.push_back(row.key);
      at->second += row.count;
      rows.add(row);
    }
  }
  const std::vector<Row> rows = table.rows();
  ASSERT_EQ(rows.size(), order.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].key, order[i]);
    EXPECT_EQ(rows[i].count, expected[order[i]]);
  }
  EXPECT_EQ(table.dropped(), 0u);
}

TEST(CountTable, CountsWhatItHasNoRoomFor) {
  CountTable<Row> table(3);
  {
    CountTable<Row>::Batch rows(table);
    for (const std::uint32_t key : {7u, 8u, 7u, 9u, 10u, 11u, 9u}) {
      rows.add({.key = key, .count = 10});
    }
  }
  ASSERT_EQ(table.rows().size(), 3u);
  EXPECT_EQ(table.rows()[0].count, 20u);
  EXPECT_EQ(table.rows()[2].count, 20u);
  EXPECT_EQ(table.dropped(), 20u);
}

TEST(CountTable, HasWhatABatchAddedWhenThatEnds) {
  CountTable<Row> table(10);
  {
    CountTable<Row>::Batch nothing(table);
  }
  EXPECT_TRUE(table.rows().empty());
  {
    CountTable<Row>::Batch one(table);
    one.add({.key = 1, .count = 5});
  }
  ASSERT_EQ(table.rows().size(), 1u);
  EXPECT_EQ(table.rows()[0].count, 5u);
}

}  // namespace
}  // namespace hodo::analyze
