#include "pt/filter_ranges.h"

#include <gtest/gtest.h>

namespace hodo::session {
namespace {

TEST(ParseFilters, UnderstandsTheKernelsForm) {
  auto filters = parse_filters("filter 0x1000/0x20@/bin/ls, filter 4096 ,filter 0x10/16");
  ASSERT_EQ(filters.size(), 3u);
  EXPECT_EQ(filters[0].start, 0x1000u);
  EXPECT_EQ(filters[0].size, 0x20u);
  EXPECT_EQ(filters[0].file, "/bin/ls");
  EXPECT_EQ(filters[1].start, 4096u);
  EXPECT_EQ(filters[1].size, 1u);
  EXPECT_EQ(filters[1].file, "");
  EXPECT_EQ(filters[2].size, 16u);
}

TEST(ParseFilters, LeavesOutWhatIsNone) {
  EXPECT_TRUE(parse_filters("").empty());
  EXPECT_TRUE(parse_filters(",,start 0x10@/bin/ls,stop 0x20,filter ,filter x,filter 1/0").empty());
}

TEST(FilterRanges, FileOffsetsBecomeAddresses) {
  std::vector<perfdata::File> files{{.path = "/bin/ls"}, {.path = "/bin/cat"}};
  std::vector<perfdata::Mapping> mappings{
      {.address = 0x555500001000, .size = 0x2000, .file_offset = 0x1000, .file = 0},
      {.address = 0x7f0000000000, .size = 0x9000, .file_offset = 0, .file = 1}};
  auto ranges = filter_ranges({{0x1800, 0x100, "/bin/ls"}, {0x400000, 0x10, ""}}, mappings, files);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].lo, 0x555500001800u);
  EXPECT_EQ(ranges[0].hi, 0x5555000018ffu);
  EXPECT_EQ(ranges[1].lo, 0x400000u);
  EXPECT_EQ(ranges[1].hi, 0x40000fu);
}

TEST(FilterRanges, OnlyTheMappedPartCounts) {
  std::vector<perfdata::File> files{{.path = "/bin/ls"}};
  std::vector<perfdata::Mapping> mappings{
      {.address = 0x10000, .size = 0x1000, .file_offset = 0x1000, .file = 0}};
  auto ranges = filter_ranges({{0x800, 0x1000, "/bin/ls"}}, mappings, files);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].lo, 0x10000u);
  EXPECT_EQ(ranges[0].hi, 0x107ffu);
  EXPECT_TRUE(filter_ranges({{0x2000, 1, "/bin/ls"}}, mappings, files).empty());
  auto huge = filter_ranges({{0x1000, ~std::uint64_t{0}, "/bin/ls"}}, mappings, files);
  ASSERT_EQ(huge.size(), 1u);
  EXPECT_EQ(huge[0].hi, 0x10fffu);
}

}  // namespace
}  // namespace hodo::session
