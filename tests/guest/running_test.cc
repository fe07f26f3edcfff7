#include "hodo/guest/running.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

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

// Values that a kernel writes to CR3 (arch/x86/include/asm/tlbflush.h): with PCID bits 11:0 are a
// number of the address space, from 1 for the kernel's half and 0x801 for the user's where both are
// on, and bit 63 asks to keep what is cached; with isolation bit 12 is set in the user half, whose
// table lies a page behind the kernel's. Two processes have neighbouring tables, which without
// isolation differ in bit 12 alone.
struct Switching {
  bool isolated, numbered;
};
class Cr3 : public testing::TestWithParam<Switching> {
 protected:
  static std::vector<std::uint64_t> values(std::uint64_t table) {
    std::vector<std::uint64_t> out;
    for (std::uint64_t number = 0; number <= (GetParam().numbered ? 6u : 0u); ++number) {
      const std::uint64_t kernel = table | number;
      out.push_back(kernel);
      if (GetParam().isolated)
        out.push_back(kernel | 1 << 12 | (GetParam().numbered ? 1 << 11 : 0));
    }
    if (GetParam().numbered) {
      for (std::size_t i = out.size(); i-- > 0;) out.push_back(out[i] | 1ULL << 63);
    }
    return out;
  }
};

TEST_P(Cr3, OfOneProcessIsOneTableAndOfTwoNever) {
  RunningKernel running;
  running.isolated = GetParam().isolated;
  const std::uint64_t next = GetParam().isolated ? 0x2000 : 0x1000;  // such tables are two pages
  constexpr std::uint64_t kTable = 0x1234'4000, kLastTable = 0xf'ffff'ffff'c000;
  std::set<std::uint64_t> all;
  for (const std::uint64_t table : {kTable, kTable + next, kLastTable}) {
    for (const std::uint64_t cr3 : values(table)) EXPECT_EQ(running.table_of(cr3), table) << cr3;
    all.insert(running.table_of(table));
  }
  EXPECT_EQ(all.size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Cr3,
                         testing::Values(Switching{false, false}, Switching{false, true},
                                         Switching{true, false}, Switching{true, true}));

}  // namespace
}  // namespace hodo::guest
