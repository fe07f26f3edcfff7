#include "hodo/guest/entries.h"

#include <gtest/gtest.h>

#include "fake_guest.h"

namespace hodo::guest {
namespace {

using test::FakeMemory;
using test::FakeSpace;

// An interrupt descriptor table with gates for page faults, the timer, and a vector that shares the
// timer's handler.
class Entries : public testing::Test {
 protected:
  static constexpr std::uint64_t kTable = 0xffff'ffff'8200'0000;
  static constexpr std::uint64_t kPageFault = 0xffff'ffff'8160'0a30;
  static constexpr std::uint64_t kTimer = 0xffff'ffff'8160'1230;

  Entries() {
    kernel_.symbols = {{kTable, 'd', "idt_table"},
                       {0xffff'ffff'8160'0000, 'T', "entry_SYSCALL_64"},
                       {0xffff'ffff'8160'0100, 'T', "__switch_to_asm"},
                       {0xffff'ffff'8100'0000, 'T', "__set_task_comm"}};
    for (unsigned vector = 0; vector < 256; ++vector) space_.put(kTable + vector * 16ULL, 0ULL);
    gate(14, kPageFault);
    gate(236, kTimer);
    gate(237, kTimer);
    space_.put<std::uint64_t>(kTable + 256 * 16ULL - 8, 0);
  }

  void gate(unsigned vector, std::uint64_t handler) {
    const std::uint64_t at = kTable + vector * 16ULL;
    space_.put(at, static_cast<std::uint16_t>(handler));
    space_.put<std::uint16_t>(at + 2, 0x10);
    space_.put<std::uint16_t>(at + 4, 0x8e00);  // present, interrupt gate
    space_.put(at + 6, static_cast<std::uint16_t>(handler >> 16));
    space_.put(at + 8, static_cast<std::uint32_t>(handler >> 32));
  }

  Kernel kernel_ = test::fake_kernel();
  FakeMemory memory_;
  FakeSpace space_{memory_};
};

TEST_F(Entries, AreTheGatesAndTheSystemCalls) {
  const auto entries = read_entries(space_.view(), kernel_);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->gates.size(), 2u);
  EXPECT_EQ(entries->vector(kPageFault), 14u);
  EXPECT_EQ(entries->vector(kTimer), 236u);
  EXPECT_FALSE(entries->vector(kPageFault + 1));
  EXPECT_TRUE(entries->contains(0xffff'ffff'8160'0000));
  EXPECT_FALSE(entries->contains(0xffff'ffff'8160'0100));
  EXPECT_EQ(entries->switch_to, 0xffff'ffff'8160'0100);
  EXPECT_EQ(entries->rename, 0xffff'ffff'8100'0000);
}

TEST_F(Entries, AreUnknownWithoutATable) {
  kernel_.symbols.erase(kernel_.symbols.begin());
  const auto entries = read_entries(space_.view(), kernel_);
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().code, ErrorCode::unsupported);
}

TEST_F(Entries, AreUnknownBehindATrampoline) {
  kernel_.symbols.push_back({0xffff'ffff'8180'0000, 'T', "entry_SYSCALL_64_trampoline"});
  EXPECT_FALSE(read_entries(space_.view(), kernel_));
}

TEST_F(Entries, AreNotFoundWhereTheTableIsNotMapped) {
  kernel_.symbols[0].address = 0xffff'ffff'9000'0000;
  const auto entries = read_entries(space_.view(), kernel_);
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().code, ErrorCode::not_found);
}

TEST(Faults, AreExceptionsThatPointAtTheirInstruction) {
  EXPECT_TRUE(is_fault(0));    // divide error
  EXPECT_FALSE(is_fault(1));   // debug
  EXPECT_FALSE(is_fault(2));   // NMI
  EXPECT_FALSE(is_fault(3));   // breakpoint
  EXPECT_TRUE(is_fault(14));   // page fault
  EXPECT_FALSE(is_fault(18));  // machine check
  EXPECT_FALSE(is_fault(32));  // an interrupt
  EXPECT_FALSE(is_fault(255));
}

}  // namespace
}  // namespace hodo::guest
