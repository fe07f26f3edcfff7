// What a unit writes that traces a kernel, too: blocks by hand, and the packets that a processor
// would write for them (SDM, "Packet Generation under Different Enable Conditions").
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "rig.h"

namespace hodo::unit {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kAll = kPlain | hw::rtit_ctl::kOs | hw::rtit_ctl::kUser;
constexpr std::uint64_t kKernel = 0xffff'ffff'8100'0000;

class KernelPackets : public testing::Test {
 protected:
  // The event that leads to the next handler.
  void interrupt_at(std::uint64_t ip, bool faulted) {
    rig.by_signal = true;
    rig.interrupted_ip = ip;
    rig.faulted = faulted;
  }
  void end_of_event() { rig.by_signal = false; }

  Rig rig{kAll};
  const Block handler = as_handler(jmp(kKernel, kKernel + 0x100));
  const Block inside = other(kKernel + 0x100);
};

TEST_F(KernelPackets, SystemCallAndReturnAreTips) {
  const Block user = syscall(0x1000), entry = sysret(kKernel), back = other(0x1010);
  rig.enter(user).enter(entry).enter(back);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TIP 0xffffffff81000000", "TIP 0x1010"));
}

TEST_F(KernelPackets, InterruptBehindABranchIsAFupAndATip) {
  const Block user = cond(0x1000, 0x2000);
  rig.enter(user);
  interrupt_at(0x2000, false);
  rig.enter(handler);
  end_of_event();
  rig.enter(inside);
  EXPECT_THAT(rig.text(),
              ElementsAre("TIP.PGE 0x1000", "TNT T (1)", "FUP 0x2000", "TIP 0xffffffff81000000"));
}

TEST_F(KernelPackets, FaultInsideABlockLeavesItsBranchOut) {
  const Block user = cond(0x1000, 0x2000);
  rig.enter(user);
  interrupt_at(0x1004, true);
  rig.enter(handler);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "FUP 0x1004", "TIP 0xffffffff81000000"));
}

TEST_F(KernelPackets, InterruptBehindAReturnTellsWhereItWent) {
  const Block first = call(0x1000, 0x3000), function = ret(0x3000);
  rig.enter(first).enter(function);
  interrupt_at(first.end(), false);
  rig.enter(handler);
  EXPECT_THAT(rig.text(),
              ElementsAre("TIP.PGE 0x1000", "TNT T (1)", "FUP 0x1010", "TIP 0xffffffff81000000"));
}

TEST_F(KernelPackets, NestedInterruptsNest) {
  const Block user = other(0x1000);
  const Block second = as_handler(other(kKernel + 0x2000));
  rig.enter(user);
  interrupt_at(0x1010, false);
  rig.enter(handler);
  interrupt_at(kKernel + 0x100, false);
  rig.enter(second);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "FUP 0x1010", "TIP 0xffffffff81000000",
                                      "FUP 0xffffffff81000100", "TIP 0xffffffff81002000"));
}

TEST_F(KernelPackets, SoftwareInterruptSaysWhereItsInstructionIs) {
  const Block user = int_n(0x1000);
  rig.enter(user);
  interrupt_at(user.end(), false);  // what is pushed
  rig.enter(handler);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "FUP 0x100e", "TIP 0xffffffff81000000"));
}

// PIPs show CR3 without its five low bits.
TEST_F(KernelPackets, MovCr3IsAPipBehindThePendingOutcomes) {
  rig.cr3 = 0x1000;
  const Block before = cond(kKernel, kKernel + 0x100), move = mov_cr3(kKernel + 0x100),
              after = other(kKernel + 0x110);
  rig.enter(before).enter(move);
  rig.cr3 = 0x1'2345'6000;
  rig.enter(after);
  EXPECT_THAT(rig.text(), ElementsAre("PIP 0x80 (NR=0)", "TIP.PGE 0xffffffff81000000", "TNT T (1)",
                                      "PIP 0x91a2b00 (NR=0)"));
}

TEST_F(KernelPackets, Cr3ThatChangedWhileNothingWasTracedIsSaidBeforeTipPge) {
  const Block user = syscall(0x1000);
  rig.cr3 = 0x5000;
  rig.enter(user);
  rig.unit.leave_context();
  rig.enter(user);
  rig.unit.leave_context();
  rig.cr3 = 0x6000;
  rig.enter(user);
  EXPECT_THAT(rig.text(),
              ElementsAre("PIP 0x280 (NR=0)", "TIP.PGE 0x1000", "TIP.PGD no ip", "TIP.PGE 0x1000",
                          "TIP.PGD no ip", "PIP 0x300 (NR=0)", "TIP.PGE 0x1000"));
}

TEST_F(KernelPackets, WidthOfTheCodeIsSaidWhereItChanges) {
  const Block user = narrow(int_n(0x1000)), again = narrow(other(0x1010));
  const Block iret = sysret(kKernel + 0x100);
  rig.enter(user);
  interrupt_at(user.end(), false);
  rig.enter(handler);
  end_of_event();
  rig.enter(iret).enter(again);
  EXPECT_THAT(rig.text(),
              ElementsAre("MODE.Exec IF:0 32", "TIP.PGE 0x1000", "FUP 0x100e", "MODE.Exec IF:0 64",
                          "TIP 0xffffffff81000000", "MODE.Exec IF:0 32", "TIP 0x1010"));
}

TEST_F(KernelPackets, PsbSaysTheAddressSpaceWhileTracing) {
  Rig traced(kAll);  // a PSB every 2 KiB
  traced.cr3 = 0x7000;
  const Block a = ijmp(0x1000), b = ijmp(0x2000);
  while (traced.unit.written() < 3000) traced.enter(a).enter(b);
  const auto text = traced.text();
  const auto pips = std::ranges::count(text, std::string("PIP 0x380 (NR=0)"));
  EXPECT_EQ(pips, 2);  // at the first TIP.PGE, and in the PSB+
}

TEST_F(KernelPackets, WithoutOsAnEventEndsTheTracing) {
  Rig user_only(kPlain | hw::rtit_ctl::kUser);
  user_only.cr3 = 0x7000;
  const Block user = other(0x1000);
  user_only.enter(user);
  user_only.by_signal = true;
  user_only.interrupted_ip = 0x1010;
  const Block signal = as_handler(other(0x5000));
  user_only.enter(signal);
  EXPECT_THAT(user_only.text(),
              ElementsAre("TIP.PGE 0x1000", "FUP 0x1010", "TIP.PGD no ip", "TIP.PGE 0x5000"));
}

}  // namespace
}  // namespace hodo::unit
