#include "joined.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace hodo::session {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes copy(const flow::Piece& piece) { return {piece.bytes.begin(), piece.bytes.end()}; }

// Parts      |aa|bb|  gap  |cc|  |dd|ee|
// Pieces     |aabb|        |cc|  |ddee|
TEST(Joined, PartsWithoutAGapBecomeOnePiece) {
  const Bytes a{1, 2}, b{3, 4}, c{5, 6}, d{7, 8}, e{9};
  const std::vector<Part> parts{{.bytes = a, .offset = 0},
                                {.bytes = b, .offset = 2},
                                {.bytes = c, .offset = 10, .gap_before = true, .lost_before = 6},
                                {.bytes = d, .offset = 12, .gap_before = true},
                                {.bytes = e, .offset = 14}};
  auto joined = Joined::make(parts);
  ASSERT_TRUE(joined.has_value()) << joined.error().message;
  ASSERT_EQ(joined->pieces().size(), 3u);
  EXPECT_EQ(copy(joined->pieces()[0]), (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(copy(joined->pieces()[1]), (Bytes{5, 6}));
  EXPECT_EQ(copy(joined->pieces()[2]), (Bytes{7, 8, 9}));
  EXPECT_EQ(joined->pieces()[1].offset, 10u);
  EXPECT_EQ(joined->pieces()[1].lost_before, 6u);
  EXPECT_EQ(joined->pieces()[2].lost_before, 0u);
}

TEST(Joined, ASinglePartIsNotCopied) {
  const Bytes a{1, 2};
  const Part part{.bytes = a};
  auto joined = Joined::make(std::span(&part, 1));
  ASSERT_TRUE(joined.has_value());
  EXPECT_EQ(joined->pieces()[0].bytes.data(), a.data());
}

TEST(Joined, NothingIsNoPiece) {
  auto joined = Joined::make({});
  ASSERT_TRUE(joined.has_value());
  EXPECT_TRUE(joined->pieces().empty());
}

TEST(Joined, NamesTheFolderThatCannotBeUsed) {
  const Bytes a{1};
  const std::vector<Part> parts{{.bytes = a}, {.bytes = a, .offset = 1}};
  ASSERT_EQ(setenv("TMPDIR", "/nonexistent", 1), 0);
  auto joined = Joined::make(parts);
  unsetenv("TMPDIR");
  ASSERT_FALSE(joined.has_value());
  EXPECT_NE(joined.error().message.find("/nonexistent"), std::string::npos);
}

}  // namespace
}  // namespace hodo::session
