// How much of a long file is read by who looks at its records.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "input.h"
#include "temp_dir.h"

namespace hodo::perfdata {
namespace {

// What read calls of this process have given.
std::uint64_t bytes_read() {
  std::ifstream in("/proc/self/io");
  std::string word;
  std::uint64_t value = 0;
  in >> word >> value;
  EXPECT_EQ(word, "rchar:");
  return value;
}

class WindowTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kSize = std::uint64_t{32} << 20;

  // Of a sparse file; looks at 16 bytes in each `step`, and says how much was read for it.
  std::uint64_t look(std::uint64_t step) {
    const std::string path = dir_.file("long");
    std::ofstream(path, std::ios::binary).close();
    std::filesystem::resize_file(path, kSize);
    auto file = image::RegularFile::open(path);
    EXPECT_TRUE(file);
    const Input input(*std::move(file));
    Window window(input);
    const std::uint64_t before = bytes_read();
    for (std::uint64_t at = 0; at < kSize; at += step) {
      const auto bytes = window.at(at, 16);
      EXPECT_TRUE(bytes);
      EXPECT_EQ(bytes->size(), 16u);
    }
    return bytes_read() - before;
  }

  TempDir dir_;
};

TEST_F(WindowTest, ReadsLittleBehindWhatIsJumpedOver) {
  const std::uint64_t read = look(std::uint64_t{1} << 20);
  EXPECT_LT(read, 32 * 5000u);
}

TEST_F(WindowTest, ReadsAllThatIsLookedAtOnce) {
  const std::uint64_t read = look(4096);
  EXPECT_GE(read, kSize - 4096);
  EXPECT_LT(read, kSize + 65536);
}

}  // namespace
}  // namespace hodo::perfdata
