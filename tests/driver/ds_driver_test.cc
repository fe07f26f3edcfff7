// The debug store driver on the trace unit, from finding support to putting everything back.
#include "hodo/driver/ds_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine.h"

namespace hodo::driver {
namespace {

namespace msr = hw::msr;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kUserBranches = 1ull << 16 | 0xc4;  // BR_INST_RETIRED, user

std::vector<std::uint64_t> froms(const DsRecords& records) {
  std::vector<std::uint64_t> out;
  for (const hw::BtsRecord& record : records.bts) out.push_back(record.from);
  return out;
}

std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t n = first; n <= last; ++n) out.push_back(n);
  return out;
}

DsDriver open(Machine& m, const DsOptions& options) {
  auto driver = DsDriver::open(m.cpuid, m.cpu, m.memory, options);
  if (!driver) {
    ADD_FAILURE() << driver.error().message;
    std::abort();
  }
  return std::move(*driver);
}

std::string refusal(Machine& m, const DsOptions& options) {
  const auto driver = DsDriver::open(m.cpuid, m.cpu, m.memory, options);
  EXPECT_EQ(m.memory.allocations(), 0);
  return driver ? "" : driver.error().message;
}

// Both widths of the DS area, and NetBurst's DEBUGCTL.
TEST(DsDriver, RecordsEveryBranchOnEveryProcessor) {
  for (const char* name : {"pentium4-northwood", "pentium4-prescott", "pentium-m-dothan",
                           "core-duo-yonah", "core2-merom", "nehalem", "haswell", "skylake",
                           "goldmont", "alder-lake", "sapphire-rapids"}) {
    Machine m(name);
    DsRecords records;
    DsDriver driver = open(m, {.bts = BtsOptions{.records = 64, .os = true}});
    m.handler = [&] { EXPECT_EQ(driver.handle_interrupt(records), true); };
    ASSERT_TRUE(driver.start());
    m.run(1, 1000);
    ASSERT_TRUE(driver.stop());
    m.run(1001, 1010);
    ASSERT_TRUE(driver.drain(records));
    EXPECT_EQ(froms(records), numbers(1, 1000)) << name;
    EXPECT_EQ(m.cpu.bts_dropped(), 0) << name;
    // The threshold of 64 records is the 58th.
    EXPECT_EQ(m.interrupts, 1000 / 58) << name;
  }
}

TEST(DsDriver, PutsEverythingBack) {
  Machine m("skylake", 0x3 << 8 | hw::perf_capabilities::kFreezeWhileSmm);
  ASSERT_TRUE(m.cpu.write_msr(msr::kDsArea, 0x123000));
  ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, 1 << 14));
  ASSERT_TRUE(m.cpu.write_msr(msr::kX2apicLvtPmi, 1 << 16 | 0xee));
  ASSERT_TRUE(m.cpu.write_msr(msr::kPerfEvtSel0, 0x77));
  ASSERT_TRUE(m.cpu.write_msr(msr::kPerfGlobalCtrl, 2));
  {
    DsDriver driver = open(m, {.bts = BtsOptions{}, .pebs = PebsOptions{}});
    ASSERT_TRUE(driver.start());
    m.run(1, 10);
  }
  EXPECT_EQ(m.read(msr::kDsArea), 0x123000);
  EXPECT_EQ(m.read(msr::kDebugctl), 1 << 14);
  EXPECT_EQ(m.read(msr::kX2apicLvtPmi), 1 << 16 | 0xee);
  EXPECT_EQ(m.read(msr::kPerfEvtSel0), 0x77);
  EXPECT_EQ(m.read(msr::kPerfGlobalCtrl), 2);
  EXPECT_EQ(m.read(msr::kPebsEnable), 0);
  EXPECT_EQ(m.memory.allocations(), 0);
}

TEST(DsDriver, CircularBufferGivesTheNewestRecordsInOrder) {
  for (const std::uint64_t last : {1, 4, 5, 6, 12}) {
    Machine m("skylake");
    DsDriver driver = open(m, {.bts = BtsOptions{.records = 5, .circular = true}});
    ASSERT_TRUE(driver.start());
    m.run(1, last);
    DsRecords records;
    ASSERT_TRUE(driver.drain(records));
    EXPECT_EQ(froms(records), numbers(last > 5 ? last - 4 : 1, last));
    // What was drained does not come back.
    m.run(last + 1, last + 2);
    records = {};
    ASSERT_TRUE(driver.drain(records));
    EXPECT_EQ(froms(records), numbers(last + 1, last + 2));
    EXPECT_EQ(m.interrupts, 0);
  }
}

// The handler runs some branches late: what the buffer has no room for is lost, and counted.
TEST(DsDriver, LateHandlerLosesAndTheUnitCounts) {
  Machine m("skylake");
  DsRecords records;
  DsDriver driver = open(m, {.bts = BtsOptions{.records = 20}});
  ASSERT_TRUE(driver.start());
  m.run(1, 30);  // the interrupt was delivered at 18, and is not handled yet
  EXPECT_EQ(m.interrupts, 1);
  EXPECT_EQ(driver.handle_interrupt(records), true);
  m.run(31, 40);
  ASSERT_TRUE(driver.drain(records));
  auto expected = numbers(1, 20);
  for (const std::uint64_t n : numbers(31, 40)) expected.push_back(n);
  EXPECT_EQ(froms(records), expected);
  EXPECT_EQ(m.cpu.bts_dropped(), 10);
}

// Each duty of the manual's list, seen from the handler's two sides.
TEST(DsDriver, HandlerStopsCopiesResetsUnmasksAndGoesOn) {
  Machine m("skylake");
  DsRecords records;
  DsDriver driver = open(m, {.bts = BtsOptions{.records = 10}});
  ASSERT_TRUE(driver.start());
  const std::uint64_t running = m.read(msr::kDebugctl);
  EXPECT_EQ(running, 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9) << "TR, BTS, BTINT, BTS_OFF_OS";
  m.run(1, 9);
  EXPECT_EQ(m.interrupts, 1);
  EXPECT_EQ(m.read(msr::kX2apicLvtPmi), 1 << 16) << "delivery masks";
  EXPECT_EQ(driver.handle_interrupt(records), true);
  EXPECT_EQ(froms(records), numbers(1, 9)) << "up to but not including the index";
  EXPECT_EQ(m.read(msr::kX2apicLvtPmi), 0);
  EXPECT_EQ(m.read(msr::kDebugctl), running);
  EXPECT_EQ(m.memory.area(m.read(msr::kDsArea)).bts.used(), 0);
  EXPECT_EQ(driver.handle_interrupt(records), false) << "somebody else's interrupt";
  EXPECT_EQ(records.bts.size(), 9);
}

TEST(DsDriver, SamplesWithPebs) {
  for (const unsigned format : {0, 1, 2, 3, 4, 5}) {
    Machine m("skylake", format << 8);
    DsRecords records;
    DsDriver driver =
        open(m, {.pebs = PebsOptions{.records = 10,
                                     .event_select = kUserBranches,
                                     .period = 9,
                                     .data_cfg = format >= 4 ? hw::pebs_data_cfg::kGprs : 0u}});
    m.handler = [&] { EXPECT_EQ(driver.handle_interrupt(records), true); };
    ASSERT_TRUE(driver.start());
    m.run(1, 200);
    ASSERT_TRUE(driver.drain(records));
    // Nine branches are counted, the tenth is recorded.
    ASSERT_EQ(records.pebs.size(), 20) << format;
    for (unsigned n = 0; n < 20; ++n) {
      EXPECT_EQ(records.pebs[n].registers->ip, 10 * (n + 1) + 0x1000);
      EXPECT_EQ(records.pebs[n].event_ip, format >= 2 ? 10 * (n + 1) : 0);
    }
    EXPECT_EQ(m.interrupts, 2) << "at the ninth record of ten";
    EXPECT_EQ(m.read(msr::kPerfGlobalStatus) >> 62, 0) << "acknowledged";
  }
}

// Nobody serves the interrupt: the buffer takes what it has room for, and the rest is counted.
TEST(DsDriver, TheLongestPebsPeriodIsThatFarFromOverflow) {
  Machine m("skylake", 0x3 << 8);
  DsDriver driver = open(m, {.pebs = PebsOptions{.period = 0x80000000}});
  EXPECT_EQ(m.read(msr::kPmc0), 0xffff80000000);
}

TEST(DsDriver, PebsBufferThatIsFullDropsRecords) {
  Machine m("skylake", 0x3 << 8);
  DsDriver driver =
      open(m, {.pebs = PebsOptions{.records = 4, .event_select = kUserBranches, .period = 9}});
  ASSERT_TRUE(driver.start());
  m.run(1, 70);
  DsRecords records;
  ASSERT_TRUE(driver.drain(records));
  ASSERT_EQ(records.pebs.size(), 4);
  EXPECT_EQ(records.pebs[3].event_ip, 40);
  EXPECT_EQ(m.cpu.pebs_dropped(), 3);
}

// One vector, both causes.
TEST(DsDriver, ServesBtsAndPebsTogether) {
  Machine m("skylake", 0x3 << 8);
  DsRecords records;
  DsDriver driver =
      open(m, {.bts = BtsOptions{.records = 50},
               .pebs = PebsOptions{.records = 4, .event_select = kUserBranches, .period = 6}});
  m.handler = [&] { EXPECT_EQ(driver.handle_interrupt(records), true); };
  ASSERT_TRUE(driver.start());
  m.run(1, 1000);
  ASSERT_TRUE(driver.drain(records));
  EXPECT_EQ(froms(records), numbers(1, 1000));
  EXPECT_EQ(records.pebs.size(), 1000 / 7);
  EXPECT_EQ(m.cpu.bts_dropped() + m.cpu.pebs_dropped(), 0);
}

TEST(DsDriver, PebsRecordsHoldTheLbrStack) {
  Machine m("sapphire-rapids", 0x4 << 8);
  ASSERT_TRUE(m.cpu.write_msr(msr::kArchLbrCtl, hw::arch_lbr_ctl::kLbrEn | hw::arch_lbr_ctl::kUsr |
                                                    hw::arch_lbr_ctl::kAllBranches));
  DsRecords records;
  DsDriver driver =
      open(m, {.pebs = PebsOptions{.event_select = kUserBranches,
                                   .period = 4,
                                   .data_cfg = hw::pebs_data_cfg::kLbrs |
                                               hw::pebs_data_cfg::kLbrEntries.set(0, 2)}});
  ASSERT_TRUE(driver.start());
  m.run(1, 5);
  ASSERT_TRUE(driver.drain(records));
  ASSERT_EQ(records.pebs.size(), 1);
  ASSERT_EQ(records.pebs[0].lbr.size(), 3);
  EXPECT_EQ(records.pebs[0].lbr[0].from, 5);
  EXPECT_EQ(records.pebs[0].lbr[2].from, 3);
}

TEST(DsDriver, RefusesWithTheReason) {
  Machine amd("zen4-raphael");
  EXPECT_EQ(refusal(amd, {.bts = BtsOptions{}}),
            "this processor has no debug store (CPUID.1:EDX.DS), which BTS needs");
  Machine vm("skylake-vmware");
  EXPECT_EQ(
      refusal(vm, {.pebs = PebsOptions{}}),
      "the hypervisor (VMware) hides the debug store (CPUID.1:EDX.DS) from this machine, which "
      "PEBS needs");
  Machine off("skylake", 0x3 << 8,
              hw::misc_enable::kBtsUnavailable | hw::misc_enable::kPebsUnavailable);
  EXPECT_THAT(refusal(off, {.bts = BtsOptions{}}), HasSubstr("says that BTS is unavailable"));
  EXPECT_THAT(refusal(off, {.pebs = PebsOptions{}}), HasSubstr("says that PEBS is unavailable"));
  Machine yonah("core-duo-yonah");
  EXPECT_THAT(refusal(yonah, {.bts = BtsOptions{}}), HasSubstr("cannot select privilege levels"));
  Machine m("skylake");
  EXPECT_EQ(refusal(m, {}), "neither BTS nor PEBS is wanted");
  EXPECT_EQ(refusal(m, {.bts = BtsOptions{.records = 1}}),
            "a buffer needs room for at least two records");
  EXPECT_EQ(refusal(m, {.pebs = PebsOptions{.period = 0}}),
            "a PEBS period is 1 to 2147483648 events");
  EXPECT_EQ(refusal(m, {.pebs = PebsOptions{.period = 0x80000001}}),
            "a PEBS period is 1 to 2147483648 events");
  EXPECT_EQ(refusal(m, {.bts = BtsOptions{.user = false}}), "BTS of no privilege level is wanted");
  EXPECT_THAT(refusal(m, {.bts = BtsOptions{.records = SIZE_MAX / 8}}),
              HasSubstr("memory can hold"));
}

TEST(DsDriver, LeavesAnotherUserAlone) {
  Machine m("skylake", 0x3 << 8);
  ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, 1 << 6 | 1 << 7));
  EXPECT_THAT(refusal(m, {.bts = BtsOptions{}}), HasSubstr("stop that one first"));
  EXPECT_EQ(m.read(msr::kDebugctl), 1 << 6 | 1 << 7);
  ASSERT_TRUE(m.cpu.write_msr(msr::kPebsEnable, 1));
  EXPECT_THAT(refusal(m, {.pebs = PebsOptions{}}), HasSubstr("another program samples"));
  EXPECT_EQ(m.read(msr::kPebsEnable), 1);
}

TEST(DsDriver, WithoutMemoryNothingChanges) {
  Machine m("skylake");
  ASSERT_TRUE(m.cpu.write_msr(msr::kDsArea, 0x123000));
  m.memory.full = true;
  EXPECT_EQ(refusal(m, {.bts = BtsOptions{}}), "no memory");
  EXPECT_EQ(m.read(msr::kDsArea), 0x123000);
}

}  // namespace
}  // namespace hodo::driver
