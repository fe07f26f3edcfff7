#include <gtest/gtest.h>

#include "fake_guest.h"

namespace hodo::guest {
namespace {

using test::FakeMemory;
using test::FakeSpace;

constexpr std::uint64_t kUser = 0x7f12'3456'7000;
constexpr std::uint64_t kKernel = 0xffff'ffff'8120'0000;

TEST(PageWalk, FindsPagesOfEachSize) {
  FakeMemory memory;
  FakeSpace space(memory);
  space.map(kUser, 0xabc000);
  space.map(kKernel, 0x1200000, 2);
  space.map(0xffff'8880'4000'0000, 0x8000'0000, 3);
  const auto small = translate(memory, space.paging(), kUser + 0x123);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->physical, 0xabc123);
  EXPECT_EQ(small->page_size, 4096);
  const auto large = translate(memory, space.paging(), kKernel + 0x12345);
  ASSERT_TRUE(large);
  EXPECT_EQ(large->physical, 0x1212345);
  EXPECT_EQ(large->page_size, 2 << 20);
  const auto huge = translate(memory, space.paging(), 0xffff'8880'4000'0000 + 0x3fff'ffff);
  ASSERT_TRUE(huge);
  EXPECT_EQ(huge->physical, 0xbfff'ffff);
  EXPECT_EQ(huge->page_size, 1 << 30);
}

TEST(PageWalk, FollowsFiveLevels) {
  FakeMemory memory;
  FakeSpace space(memory, 5);
  const std::uint64_t address = 0x00ff'1234'5678'9000;  // not canonical with four
  space.map(address, 0xabc000);
  EXPECT_EQ(space.view().physical_address(address + 1), 0xabc001);
  Paging four = space.paging();
  four.five_levels = false;
  EXPECT_FALSE(translate(memory, four, address));
}

TEST(PageWalk, IgnoresTheBitsOfCr3AndEntriesThatAreNoAddress) {
  FakeMemory memory;
  FakeSpace space(memory);
  space.map(kUser, 0xabc000 | 1ULL << 63 | 0x66);  // XD, dirty, accessed, user, writable
  Paging paging = space.paging();
  paging.cr3 |= 0x803 | 1ULL << 63;  // PCID, no flush
  const auto found = translate(memory, paging, kUser);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->physical, 0xabc000);
}

TEST(PageWalk, SaysWhatIsNotMapped) {
  FakeMemory memory;
  FakeSpace space(memory);
  space.map(kUser, 0xabc000);
  EXPECT_FALSE(translate(memory, space.paging(), kUser - 1));
  EXPECT_FALSE(translate(memory, space.paging(), kUser + 4096));
  EXPECT_FALSE(translate(memory, space.paging(), kUser | 1ULL << 47));                   // gap
  EXPECT_FALSE(translate(memory, {.cr3 = 0x7'0000'0000, .five_levels = false}, kUser));  // no RAM
}

TEST(VirtualMemory, ReadsAcrossPagesThatLieApart) {
  FakeMemory memory;
  FakeSpace space(memory);
  space.map(kUser, 0x9000);
  space.map(kUser + 4096, 0x5000);
  memory.put<std::uint32_t>(0x9ffc, 0x33221100);
  memory.put<std::uint32_t>(0x5000, 0x77665544);
  EXPECT_EQ(space.view().read<std::uint64_t>(kUser + 4092), 0x7766554433221100);
  EXPECT_FALSE(space.view().read<std::uint64_t>(kUser + 8189));  // one byte is behind the end
  EXPECT_FALSE(space.view().read<std::uint64_t>(~std::uint64_t{0} - 3));
}

TEST(VirtualMemory, CutsStringsAtTheLimitAndStopsAtTheEndOfMemory) {
  FakeMemory memory;
  FakeSpace space(memory);
  space.text(kUser, "swapper/0");
  EXPECT_EQ(space.view().read_string(kUser, 16), "swapper/0");
  EXPECT_EQ(space.view().read_string(kUser, 4), "swap");
  space.write(kUser + 4094, std::vector<std::uint8_t>{'a', 'b'});
  EXPECT_EQ(space.view().read_string(kUser + 4094, 2), "ab");
  EXPECT_FALSE(space.view().read_string(kUser + 4094, 3));
}

}  // namespace
}  // namespace hodo::guest
