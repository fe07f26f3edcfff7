#include "hodo/guest/foreign_pointers.h"

#include <gtest/gtest.h>

#include "fake_guest.h"

namespace hodo::guest {
namespace {

constexpr std::uint64_t kRodata = 0xffff'ffff'8200'0000;
constexpr std::uint64_t kModule = 0xffff'ffff'c000'0000;

bool is_module(std::uint64_t target) { return target - kModule < 0x1000; }

class ForeignPointers : public testing::Test {
 protected:
  ForeignPointers() {
    kernel_.symbols = {{kRodata, 'D', "__start_rodata"},
                       {kRodata + 0x100, 'D', "operations"},
                       {kRodata + 0x3000, 'D', "__end_rodata"}};
    space_.put<std::uint64_t>(kRodata, 0);
    space_.put<std::uint64_t>(kRodata + 0x2000, 0);  // the page between is not mapped
  }

  Kernel kernel_;
  test::FakeMemory memory_;
  test::FakeSpace space_{memory_};
};

TEST_F(ForeignPointers, AreFoundAndNamed) {
  space_.put(kRodata + 0x140, kModule + 0x20);
  space_.put(kRodata + 0x150, kRodata);
  space_.put(kRodata + 0x2ff8, kModule);
  const auto found = foreign_pointers(space_.view(), kernel_, is_module);
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[0].slot, kRodata + 0x140);
  EXPECT_EQ(found[0].target, kModule + 0x20);
  EXPECT_EQ(found[0].name, "operations+0x40");
  EXPECT_EQ(found[1].name, "operations+0x2ef8");
}

TEST_F(ForeignPointers, AreNotLookedForBehindTheData) {
  space_.put(kRodata + 0x3000, kModule);
  EXPECT_TRUE(foreign_pointers(space_.view(), kernel_, is_module).empty());
}

TEST_F(ForeignPointers, OfAKernelThatDoesNotSayWhereItsDataLiesAreNone) {
  space_.put(kRodata + 0x140, kModule);
  kernel_.symbols.back().address = 0xffff'ffff'ffff'f000;
  EXPECT_TRUE(foreign_pointers(space_.view(), kernel_, is_module).empty());
  kernel_.symbols.clear();
  EXPECT_TRUE(foreign_pointers(space_.view(), kernel_, is_module).empty());
}

TEST_F(ForeignPointers, AreLimited) {
  for (std::uint64_t at = 0; at < 0x1000; at += 8) {
    space_.put(kRodata + at, kModule);
    space_.put(kRodata + 0x1000 + at, kModule);
    space_.put(kRodata + 0x2000 + at, kModule);
  }
  EXPECT_EQ(foreign_pointers(space_.view(), kernel_, is_module).size(), 1024);
}

}  // namespace
}  // namespace hodo::guest
