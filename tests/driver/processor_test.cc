// The trace unit's registers: what faults, what freezes, what is delivered.
#include "hodo/unit/processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine.h"

namespace hodo::driver {
namespace {

namespace msr = hw::msr;

TEST(Debugctl, EveryReservedBitFaults) {
  for (const char* name : {"pentium3-katmai", "pentium4-northwood", "pentium4-prescott",
                           "pentium-m-dothan", "core2-merom", "skylake", "sapphire-rapids",
                           "zen2-matisse", "zen4-raphael", "zen5-granite-ridge"}) {
    Machine m(name);
    const std::uint64_t allowed = m.cpu.features().debugctl.allowed();
    const std::uint64_t ignored = m.cpu.features().debugctl.ignored;
    for (unsigned bit = 0; bit < 64; ++bit) {
      const std::uint64_t value = 1ull << bit;
      const Status status = m.cpu.write_msr(msr::kDebugctl, value);
      EXPECT_EQ(status.has_value(), (allowed & value) != 0) << name << ", bit " << bit;
      EXPECT_EQ(m.read(msr::kDebugctl), status && !(ignored & value) ? value : 0);
      ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, 0));
    }
  }
}

TEST(Debugctl, AFaultChangesNothingAndSaysWhere) {
  Machine m("skylake");
  ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, 1));
  const Status status = m.cpu.write_msr(msr::kDebugctl, 1 << 5);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "#GP: WRMSR of register 0x1d9: a reserved bit is set");
  EXPECT_EQ(m.read(msr::kDebugctl), 1);
}

TEST(Registers, OnesThatAProcessorDoesNotHaveFault) {
  Machine amd("zen2-matisse");
  EXPECT_FALSE(amd.cpu.read_msr(msr::kDsArea));
  EXPECT_FALSE(amd.cpu.read_msr(msr::kLbrTos));
  EXPECT_FALSE(amd.cpu.write_msr(msr::kDsArea, 0));
  EXPECT_FALSE(amd.cpu.write_msr(msr::kLastBranchFromIp, 0)) << "read-only";
  Machine prescott("pentium4-prescott");
  EXPECT_TRUE(prescott.cpu.write_msr(msr::kLbrFrom + 15, 1));
  EXPECT_EQ(prescott.read(msr::kLbrFrom + 15), 1);
  EXPECT_TRUE(prescott.cpu.write_msr(msr::kNetburstLbrTos, 15));
  Machine skylake("skylake");
  EXPECT_TRUE(skylake.cpu.read_msr(msr::kLbrInfo + 31));
  EXPECT_FALSE(skylake.cpu.read_msr(msr::kLbrInfo + 32));
  EXPECT_FALSE(skylake.cpu.read_msr(msr::kArchLbrCtl));
  EXPECT_FALSE(skylake.cpu.write_msr(msr::kLbrTos, 32));
  EXPECT_FALSE(skylake.cpu.write_msr(msr::kLbrSelect, 1 << 10));
  EXPECT_FALSE(skylake.cpu.write_msr(msr::kDsArea, 0x0000800000000000)) << "not canonical";
  EXPECT_FALSE(skylake.cpu.write_msr(msr::kPerfGlobalStatus, 0)) << "read-only";
  Machine nehalem("nehalem");
  EXPECT_FALSE(nehalem.cpu.write_msr(msr::kLbrSelect, 1 << 9)) << "no call-stack mode";
}

TEST(Registers, ArchitecturalDepthIsOneThatCpuidLists) {
  Machine m("sapphire-rapids");
  EXPECT_EQ(m.read(msr::kArchLbrDepth), 32);
  EXPECT_TRUE(m.cpu.write_msr(msr::kArchLbrDepth, 16));
  for (const std::uint64_t depth : {0, 1, 12, 24, 40, 64, 128}) {
    EXPECT_FALSE(m.cpu.write_msr(msr::kArchLbrDepth, depth)) << depth;
  }
  EXPECT_EQ(m.read(msr::kArchLbrDepth), 16);
}

TEST(Btf, OneBranchIsOneDebugException) {
  Machine m("skylake");
  ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, 1 << 1 | 1 << 0));
  m.run(1, 3);
  EXPECT_EQ(m.cpu.debug_exceptions(), 0) << "EFLAGS.TF is clear";
  m.cpu.set_trap_flag(true);
  m.run(4, 6);
  EXPECT_EQ(m.cpu.debug_exceptions(), 1) << "the handler has to set BTF again";
  EXPECT_EQ(m.read(msr::kDebugctl), 0);
  EXPECT_EQ(m.read(msr::kLbrFrom + 4), 4);
  ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, 1 << 1));
  m.cpu.branch({.from = 7, .to = 8, .to_cpl = 0, .event = true});
  EXPECT_EQ(m.cpu.debug_exceptions(), 1);
  m.run(8, 8);
  EXPECT_EQ(m.cpu.debug_exceptions(), 2);
}

// Pentium 4, models 0 to 2: both addresses in one register, 1DBH to 1DEH; TOS at 1DAH.
TEST(Registers, PackedStackHoldsFromBelowTo) {
  Machine m("pentium4-northwood");
  ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, 1));
  m.run(0x8048000, 0x8048004);
  EXPECT_EQ(m.read(msr::kNetburstLbrTos), 1);  // records 1 2 3 0 1
  EXPECT_EQ(m.read(0x1dc), 0x0804900408048004);
  EXPECT_EQ(m.read(0x1db), 0x0804900308048003);
  EXPECT_EQ(m.read(0x1de), 0x0804900208048002);
}

TEST(Registers, LastExceptionRecordHoldsTheBranchBeforeIt) {
  for (const char* name : {"core2-merom", "nehalem", "skylake", "goldmont", "alder-lake"}) {
    Machine m(name);
    const bool arch = m.cpu.features().arch_lbr;
    ASSERT_TRUE(arch ? m.cpu.write_msr(msr::kArchLbrCtl, hw::arch_lbr_ctl::kLbrEn |
                                                             hw::arch_lbr_ctl::kUsr |
                                                             hw::arch_lbr_ctl::kAllBranches)
                     : m.cpu.write_msr(msr::kDebugctl, 1));
    m.run(1, 3);
    m.cpu.branch({.from = 9, .to = 0x2000, .to_cpl = 0, .event = true});
    m.run(5, 6);
    EXPECT_EQ(m.read(0x1dd), 3) << name;
    EXPECT_EQ(m.read(0x1de) & 0xffff, 0x1003) << name;
    EXPECT_EQ(m.cpu.read_msr(0x1e0).has_value(), arch) << name;
    EXPECT_EQ(m.cpu.write_msr(0x1dd, 0).has_value(), arch) << name;
  }
}

std::uint64_t counting(std::uint64_t more = 0) { return 1ull << 22 | 1ull << 16 | more; }
constexpr std::uint64_t kInt = 1ull << 20;

void overflow_after(Machine& m, std::uint64_t branches) {
  ASSERT_TRUE(m.cpu.write_msr(msr::kX2apicLvtPmi, 0));
  ASSERT_TRUE(m.cpu.write_msr(msr::kPmc0, (0 - branches) & 0xffffffff));
  ASSERT_TRUE(m.cpu.write_msr(msr::kPerfEvtSel0, counting(kInt)));
  ASSERT_TRUE(m.cpu.write_msr(msr::kPerfGlobalCtrl, 1));
}

std::uint64_t newest_from(Machine& m) {
  return m.read(msr::kLbrFrom + static_cast<std::uint32_t>(m.read(msr::kLbrTos)));
}

// Up to version 3 of performance monitoring the enable bit is cleared.
TEST(Freeze, ClearsTheEnableBitOnOlderProcessors) {
  Machine m("haswell");
  overflow_after(m, 3);
  ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, 1 | 1 << 11));
  m.run(1, 10);
  EXPECT_EQ(m.interrupts, 1);
  EXPECT_EQ(m.read(msr::kDebugctl), 1 << 11);
  EXPECT_EQ(newest_from(m), 3);
}

// From version 4 on a status bit stops the stack until software clears it.
TEST(Freeze, SetsAStatusBitOnNewerProcessors) {
  Machine m("skylake");
  overflow_after(m, 3);
  ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, 1 | 1 << 11));
  m.run(1, 10);
  EXPECT_EQ(m.read(msr::kDebugctl), 1 | 1 << 11);
  EXPECT_EQ(m.read(msr::kPerfGlobalStatus), 1ull << 58 | 1);
  EXPECT_EQ(newest_from(m), 3);
  ASSERT_TRUE(m.cpu.write_msr(msr::kPerfGlobalOvfCtrl, 1ull << 58 | 1));
  m.run(11, 11);
  EXPECT_EQ(newest_from(m), 11);
}

// Zen 5: bit 58 of PerfCntrGlobalStatus.
TEST(Freeze, SetsAmdsStatusBit) {
  Machine m("zen5-granite-ridge");
  ASSERT_TRUE(m.cpu.write_msr(msr::kX2apicLvtPmi, 0));
  ASSERT_TRUE(m.cpu.write_msr(msr::kAmdPerfCtr0, 0 - 3ull));
  ASSERT_TRUE(m.cpu.write_msr(msr::kAmdPerfCtl0, counting(kInt)));
  ASSERT_TRUE(m.cpu.write_msr(msr::kAmdPerfGlobalCtl, 1));
  ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, 1 << 11));
  ASSERT_TRUE(m.cpu.write_msr(msr::kAmdDebugExtnCfg, 1 << 6));
  m.run(1, 10);
  EXPECT_EQ(m.interrupts, 1);
  EXPECT_EQ(m.read(msr::kAmdPerfGlobalStatus), 1ull << 58 | 1);
  EXPECT_EQ(m.read(msr::kAmdLbrFrom), 3);
  EXPECT_FALSE(m.cpu.write_msr(msr::kAmdPerfGlobalStatus, 0)) << "read-only";
  ASSERT_TRUE(m.cpu.write_msr(msr::kAmdPerfGlobalStatusClr, 1ull << 58 | 1));
  m.run(11, 11);
  EXPECT_EQ(m.read(msr::kAmdLbrFrom), 11);
  EXPECT_FALSE(m.cpu.read_msr(msr::kPmc0)) << "Intel's number";
}

TEST(Freeze, CountersStopWithIt) {
  for (const char* name : {"haswell", "skylake"}) {
    Machine m(name);
    overflow_after(m, 3);
    ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, 1 << 12));
    m.run(1, 10);
    EXPECT_EQ(m.read(msr::kPmc0), 0) << name;
  }
}

TEST(Interrupts, DeliveryMasksTheEntry) {
  Machine m("skylake");
  overflow_after(m, 1);
  m.run(1, 1);
  EXPECT_EQ(m.interrupts, 1);
  EXPECT_EQ(m.read(msr::kX2apicLvtPmi), 1 << 16);
  ASSERT_TRUE(m.cpu.write_msr(msr::kPmc0, 0xffffffff));
  m.run(2, 2);
  EXPECT_EQ(m.interrupts, 1);
  EXPECT_EQ(m.cpu.missed_interrupts(), 1);
}

TEST(Bts, NothingIsStoredWhereItIsUnavailable) {
  Machine m("skylake", 0, hw::misc_enable::kBtsUnavailable);
  const std::uint64_t area = *m.memory.allocate(4096);
  m.memory.set_area(area,
                    {.bts = {area + 0x400, area + 0x400, area + 0x400 + 240, area + 0x400 + 240}});
  ASSERT_TRUE(m.cpu.write_msr(msr::kDsArea, area));
  ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, 1 << 6 | 1 << 7));
  m.run(1, 3);
  EXPECT_EQ(m.memory.area(area).bts.used(), 0);
}

// TR without BTS sends messages to the bus, where nobody listens.
TEST(Bts, NeedsBothBits) {
  Machine m("skylake");
  const std::uint64_t area = *m.memory.allocate(4096);
  m.memory.set_area(area,
                    {.bts = {area + 0x400, area + 0x400, area + 0x400 + 240, area + 0x400 + 240}});
  ASSERT_TRUE(m.cpu.write_msr(msr::kDsArea, area));
  for (const std::uint64_t bits : {1 << 6, 1 << 7}) {
    ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, bits));
    m.run(1, 3);
    EXPECT_EQ(m.memory.area(area).bts.used(), 0);
  }
  ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, 1 << 6 | 1 << 7));
  m.run(1, 3);
  EXPECT_EQ(m.memory.area(area).bts.used(), 72);
}

}  // namespace
}  // namespace hodo::driver
