#include "pt/queue_bytes.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

namespace hodo::session {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes copy(const flow::Piece& piece) { return {piece.bytes.begin(), piece.bytes.end()}; }

// Reads from bytes as from a file.
PlainTrace from(const Bytes& file, std::vector<Part> parts) {
  return {std::move(parts), [&file](std::uint64_t offset, std::span<std::uint8_t> out) -> Status {
            if (offset > file.size() || out.size() > file.size() - offset) {
              return fail(ErrorCode::truncated, "shorter", offset);
            }
            std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(offset), out.size(),
                        out.begin());
            return {};
          }};
}

// Parts      |aa|bb|  gap  |cc|  |dd|e|
// Pieces     |aabb|        |cc|  |dde|
TEST(QueueBytes, PartsWithoutAGapBecomeOnePiece) {
  const Bytes file{0, 1, 2, 3, 4, 0, 0, 5, 6, 7, 8, 9};
  const std::vector<Part> parts{
      {.file_offset = 1, .size = 2, .offset = 0},
      {.file_offset = 3, .size = 2, .offset = 2},
      {.file_offset = 7, .size = 2, .offset = 10, .gap_before = true, .lost_before = 6},
      {.file_offset = 9, .size = 2, .offset = 12, .gap_before = true},
      {.file_offset = 11, .size = 1, .offset = 14}};
  PlainTrace trace = from(file, parts);
  auto joined = QueueBytes::make(trace);
  ASSERT_TRUE(joined.has_value()) << joined.error().message;
  ASSERT_EQ(joined->pieces().size(), 3u);
  EXPECT_EQ(copy(joined->pieces()[0]), (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(copy(joined->pieces()[1]), (Bytes{5, 6}));
  EXPECT_EQ(copy(joined->pieces()[2]), (Bytes{7, 8, 9}));
  EXPECT_EQ(joined->pieces()[1].offset, 10u);
  EXPECT_EQ(joined->pieces()[1].lost_before, 6u);
  EXPECT_EQ(joined->pieces()[2].lost_before, 0u);
}

// More than what is kept in memory.
Bytes long_trace() {
  Bytes file(17 << 20);
  for (std::size_t i = 0; i < file.size(); ++i) file[i] = static_cast<std::uint8_t>(i >> 12);
  return file;
}

TEST(QueueBytes, ALongTraceLiesInAFile) {
  const Bytes file = long_trace();
  PlainTrace trace = from(file, {{.size = file.size()}});
  auto joined = QueueBytes::make(trace);
  ASSERT_TRUE(joined.has_value()) << joined.error().message;
  EXPECT_EQ(copy(joined->pieces()[0]), file);
  joined->done(file.size());
  EXPECT_EQ(copy(joined->pieces()[0]), file) << "what was let go can be read again";
}

TEST(QueueBytes, BytesThatAreGoneAreAnError) {
  for (const Bytes& file : {Bytes(5), long_trace()}) {
    PlainTrace trace = from(file, {{.size = file.size() + 1}});
    auto joined = QueueBytes::make(trace);
    ASSERT_FALSE(joined.has_value());
    EXPECT_EQ(joined.error().message, "shorter");
  }
}

TEST(QueueBytes, NothingIsNoPiece) {
  PlainTrace trace = from({}, {});
  auto joined = QueueBytes::make(trace);
  ASSERT_TRUE(joined.has_value());
  EXPECT_TRUE(joined->pieces().empty());
}

TEST(QueueBytes, NamesTheFolderThatCannotBeUsed) {
  const Bytes file = long_trace();
  PlainTrace trace = from(file, {{.size = file.size()}});
  ASSERT_EQ(setenv("TMPDIR", "/nonexistent", 1), 0);
  auto joined = QueueBytes::make(trace);
  unsetenv("TMPDIR");
  ASSERT_FALSE(joined.has_value());
  EXPECT_NE(joined.error().message.find("/nonexistent"), std::string::npos);
}

}  // namespace
}  // namespace hodo::session
