#include "hodo/guest/code_ranges.h"

#include <gtest/gtest.h>

#include "fake_guest.h"

namespace hodo::guest {
namespace {

using test::FakeMemory;
using test::FakeSpace;

constexpr std::uint64_t kUser = 4, kNoExecute = 1ULL << 63;

// FakeSpace's tables allow no user mode; these do.
class CodeRanges : public testing::Test {
 protected:
  void map(std::uint64_t address, std::uint64_t rights) {
    space_.map(address, rights | 0x5000);
    std::uint64_t table = space_.paging().cr3;
    for (unsigned level = 4; level > 1; --level) {
      const std::uint64_t slot = table + (address >> (3 + 9 * level) & 511) * 8;
      std::uint64_t entry = 0;
      memory_.read(slot, {reinterpret_cast<std::uint8_t*>(&entry), 8});
      memory_.put(slot, entry | kUser);
      table = entry & 0x000f'ffff'ffff'f000;
    }
  }
  std::vector<CodeRange> found() { return user_code_ranges(memory_, space_.paging()); }

  FakeMemory memory_;
  FakeSpace space_{memory_};
};

TEST_F(CodeRanges, AreOfPagesThatUserModeMayExecute) {
  map(0x40'1000, kUser);
  map(0x40'2000, kUser);
  map(0x40'3000, kUser | kNoExecute);
  map(0x40'4000, 0);
  map(0x7fff'ffff'f000, kUser);
  const auto ranges = found();
  ASSERT_EQ(ranges.size(), 2);
  EXPECT_EQ(ranges[0].start, 0x40'1000);
  EXPECT_EQ(ranges[0].end, 0x40'3000);
  EXPECT_EQ(ranges[1].start, 0x7fff'ffff'f000);
}

TEST_F(CodeRanges, EndWhereTablesLeadInCircles) {
  const std::uint64_t top = space_.paging().cr3;
  for (unsigned i = 0; i < 512; ++i) memory_.put(top + i * 8, top | kUser | 1);
  EXPECT_LE(found().size(), 4096);
}

}  // namespace
}  // namespace hodo::guest
