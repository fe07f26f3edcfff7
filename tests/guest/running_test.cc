#include "hodo/guest/running.h"

#include <gtest/gtest.h>

#include "fake_guest.h"

namespace hodo::guest {
namespace {

TEST(RunningKernel, IsNotLookedForOutside64BitMode) {
  const test::FakeMemory memory;
  const ProcessorState real_mode{.ip = 0xfff0};
  const auto found = find_running_kernel(memory, {&real_mode, 1});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::not_found);
  EXPECT_EQ(found.error().message, "no processor of the guest runs in 64-bit mode");
}

TEST(RunningKernel, OfAnotherSystemIsNotFound) {
  test::FakeMemory memory;
  test::FakeSpace space(memory);
  constexpr std::uint64_t kIdt = 0xffff'fe00'0000'0000, kHandler = 0x40'1000;
  space.put(kIdt + 14 * 16, static_cast<std::uint16_t>(kHandler));
  space.put(kIdt + 14 * 16 + 6, static_cast<std::uint16_t>(kHandler >> 16));
  const ProcessorState processor{.cr3 = space.paging().cr3, .efer = 1 << 10, .idt = kIdt};
  const auto found = find_running_kernel(memory, {&processor, 1});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "no Linux kernel runs in the guest");
}

TEST(RunningKernel, TellsHalvesApartByBit12OnlyWithIsolation) {
  RunningKernel running;
  EXPECT_EQ(running.table_of(0x8000'0000'1234'5fff), 0x1234'5000);
  running.isolated = true;
  EXPECT_EQ(running.table_of(0x8000'0000'1234'5fff), 0x1234'4000);
}

}  // namespace
}  // namespace hodo::guest
