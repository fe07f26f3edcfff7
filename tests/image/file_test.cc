// Files that become shorter between being opened and being read.
#include "hodo/image/file.h"

#include <gtest/gtest.h>

#include "temp_file.h"

namespace hodo::image {
namespace {

using test::Bytes;
using test::pattern;
using test::TempFile;

TEST(RegularFile, SaysThatItHasBecomeShorter) {
  const Bytes all = pattern(100);
  const TempFile temp(all);
  const auto file = RegularFile::open(temp.path());
  ASSERT_TRUE(file.has_value()) << file.error().message;
  temp.shrink(60);
  Bytes out(10);
  EXPECT_TRUE(file->read(50, out).has_value());
  EXPECT_EQ(out, Bytes(all.begin() + 50, all.begin() + 60));
  const Status one_less = file->read(51, out);
  ASSERT_FALSE(one_less.has_value());
  EXPECT_EQ(one_less.error().code, ErrorCode::truncated);
  EXPECT_EQ(one_less.error().message,
            "the file became shorter while it was read (was 100 bytes, is 60)");
  const auto whole = file->read_all(1000);
  ASSERT_FALSE(whole.has_value());
  EXPECT_EQ(whole.error().message, one_less.error().message);
}

TEST(RegularFile, TheEndIsNoShrinking) {
  const TempFile temp(pattern(100));
  const auto file = RegularFile::open(temp.path());
  ASSERT_TRUE(file.has_value());
  Bytes out(10);
  const Status behind = file->read(95, out);
  ASSERT_FALSE(behind.has_value());
  EXPECT_EQ(behind.error().message, "the file ends before these bytes do");
  EXPECT_EQ(file->read_all(100).value().size(), 100u);
}

}  // namespace
}  // namespace hodo::image
