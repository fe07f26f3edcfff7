// Lines that were read from DWARF once are found again without it.
#include "kept_line_table.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "shelf.h"

namespace hodo::symbol {
namespace {

using Bytes = std::vector<std::uint8_t>;

using test::Shelf;

// An overlap, a row of no bytes, and the last address and line that there are.
LineTable table_of_lines() {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  return {.files = {"/a.cc", "/b.h"},
          .rows = {{0x10, 0x20, 0, 7, true},
                   {0x18, 0x18, 1, 1, false},
                   {0x18, 0x30, 1, ~std::uint32_t{0}, true},
                   {kLast - 1, kLast, 0, 2, false}}};
}

bool same(const LineTable& a, const LineTable& b) {
  return a.files == b.files &&
         std::ranges::equal(a.rows, b.rows, [](const LineRow& x, const LineRow& y) {
           return x.address == y.address && x.end == y.end && x.file == y.file &&
                  x.line == y.line && x.statement == y.statement;
         });
}

class KeptLineTable : public testing::Test {
 protected:
  LineTable ask() {
    return kept_line_table(
        shelf_, [this] { return key_; },
        [this] {
          ++looked_;
          return lines_;
        });
  }
  Shelf shelf_;
  FilesKey key_{.bytes = {1, 2, 3}};
  LineTable lines_ = table_of_lines();
  int looked_ = 0;
};

TEST_F(KeptLineTable, IsLookedForOnce) {
  EXPECT_TRUE(same(ask(), lines_));
  EXPECT_TRUE(same(ask(), lines_));
  EXPECT_EQ(looked_, 1);
  key_.bytes[2] = 4;
  EXPECT_TRUE(same(ask(), lines_));
  EXPECT_EQ(looked_, 2) << "another file";
}

TEST_F(KeptLineTable, OfAFileThatWasJustWrittenIsNotKept) {
  key_.settled = false;
  ask();
  EXPECT_TRUE(shelf_.kept.empty());
}

TEST_F(KeptLineTable, OfNothingIsNotKept) {
  lines_ = {};
  ask();
  EXPECT_TRUE(shelf_.kept.empty());
}

TEST_F(KeptLineTable, ThatIsDamagedIsLookedForAnew) {
  ask();
  shelf_.kept.begin()->second.pop_back();
  EXPECT_TRUE(same(ask(), lines_));
  EXPECT_EQ(looked_, 2);
}

// Rows are by address, of a file that there is.
TEST_F(KeptLineTable, BytesThatLie) {
  const Bytes whole = write_line_table(lines_);
  ASSERT_TRUE(read_line_table(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_line_table(std::span(whole).first(size))) << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      Bytes bad = whole;
      bad[at] = static_cast<std::uint8_t>(value);
      const auto read = read_line_table(bad);
      if (!read) continue;
      EXPECT_TRUE(std::ranges::is_sorted(read->rows, {}, &LineRow::address));
      for (const LineRow& row : read->rows) {
        EXPECT_LT(row.file, read->files.size());
        EXPECT_LE(row.address, row.end);
        EXPECT_NE(row.line, 0u);
      }
    }
  }
}

}  // namespace
}  // namespace hodo::symbol
