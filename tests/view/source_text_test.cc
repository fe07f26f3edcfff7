#include "hodo/view/source_text.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace hodo::view {
namespace {

using Lines = std::map<std::uint32_t, std::string>;

class ReadSource : public testing::Test {
 protected:
  ~ReadSource() override { std::filesystem::remove(path_); }
  Lines read(const std::string& text, std::uint32_t first, std::uint32_t last) {
    std::ofstream(path_, std::ios::binary) << text;
    return read_source(path_, first, last);
  }
  std::string path_ = testing::TempDir() + "source_text_test.c";
};

TEST_F(ReadSource, GivesTheLinesThatAreAskedFor) {
  EXPECT_EQ(read("one\ntwo\n\nfour", 2, 9), (Lines{{2, "two"}, {3, ""}, {4, "four"}}));
  EXPECT_EQ(read("one\ntwo\n", 1, 1), (Lines{{1, "one"}}));
  EXPECT_EQ(read("one\n", 2, 9), Lines{});
  EXPECT_EQ(read("", 1, 9), Lines{});
}

TEST_F(ReadSource, HasSpacesForTabs) {
  EXPECT_EQ(read("\tif (x)\n\t\treturn;\nint\ta;\n1234567\tb\n12345678\tc\n\xc3\xa9\td\n", 1, 9),
            (Lines{{1, "        if (x)"},
                   {2, "                return;"},
                   {3, "int     a;"},
                   {4, "1234567 b"},
                   {5, "12345678        c"},
                   {6, "\xc3\xa9       d"}}));
}

TEST_F(ReadSource, LeavesLineEndsOfOtherSystemsOut) {
  EXPECT_EQ(read("one\r\ntwo\rthree\r\n", 1, 9), (Lines{{1, "one"}, {2, "two\\x0dthree"}}));
}

TEST_F(ReadSource, IsOfBoundedLength) {
  const std::string many(1000, 'x');
  EXPECT_EQ(read(many + "\n" + std::string(1000, '\t'), 1, 2)[1], std::string(198, 'x') + "..");
  EXPECT_EQ(read("\n" + std::string(1000, '\t'), 1, 2)[2], std::string(198, ' ') + "..");
}

TEST_F(ReadSource, ReadsLinesThatLieInSeveralBlocks) {
  std::string text;
  for (int i = 1; i <= 100'000; ++i) text += std::to_string(i) + "\n";
  const Lines lines = read(text, 99'999, 200'000);
  EXPECT_EQ(lines, (Lines{{99'999, "99999"}, {100'000, "100000"}}));
}

// Names in debug information are anybody's.
TEST_F(ReadSource, TakesNothingButFiles) {
  EXPECT_EQ(read_source("/dev/zero", 1, 9), Lines{});
  EXPECT_EQ(read_source("/nowhere/at/all", 1, 9), Lines{});
  EXPECT_EQ(read_source(testing::TempDir(), 1, 9), Lines{});
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(read_source(path_, 1, 9), Lines{});
}

TEST_F(ReadSource, SaysThatItIsNewerThanTheProgram) {
  const std::string program = testing::TempDir() + "source_text_program";
  std::ofstream(path_) << "one\n";
  std::ofstream(program) << "made of it";
  const auto made = std::filesystem::last_write_time(program);
  std::filesystem::last_write_time(path_, made - std::chrono::seconds(1));
  EXPECT_FALSE(is_newer(path_, program));
  std::filesystem::last_write_time(path_, made);
  EXPECT_FALSE(is_newer(path_, program));
  std::filesystem::last_write_time(path_, made + std::chrono::seconds(1));
  EXPECT_TRUE(is_newer(path_, program));
  std::filesystem::remove(program);
  EXPECT_FALSE(is_newer(path_, program));
}

}  // namespace
}  // namespace hodo::view
