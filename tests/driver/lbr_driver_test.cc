// The LBR driver on the trace unit, on a processor of each kind of stack.
#include "hodo/driver/lbr_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine.h"

namespace hodo::driver {
namespace {

namespace msr = hw::msr;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

LbrDriver open(Machine& m, const LbrOptions& options = {.os = true}) {
  auto driver = LbrDriver::open(m.cpuid, m.cpu, options);
  if (!driver) {
    ADD_FAILURE() << driver.error().message;
    std::abort();
  }
  return std::move(*driver);
}

std::vector<std::uint64_t> froms(LbrDriver& driver) {
  const auto entries = driver.read();
  EXPECT_TRUE(entries);
  std::vector<std::uint64_t> out;
  for (const hw::LbrEntry& entry : *entries) {
    EXPECT_EQ(entry.to, entry.from + 0x1000);
    out.push_back(entry.from);
  }
  return out;
}

TEST(LbrDriver, ReadsNewestFirstOnEveryProcessor) {
  for (const char* name : {"pentium3-katmai",   "pentium4-northwood",
                           "pentium4-prescott", "pentium-m-dothan",
                           "core-duo-yonah",    "core2-merom",
                           "core2-penryn",      "atom-pineview",
                           "nehalem",           "sandy-bridge",
                           "silvermont",        "haswell",
                           "broadwell-de",      "skylake",
                           "goldmont",          "goldmont-plus",
                           "alder-lake",        "sapphire-rapids",
                           "k8-clawhammer",     "zen2-matisse",
                           "zen4-raphael",      "zen5-granite-ridge"}) {
    Machine m(name);
    LbrDriver driver = open(m);
    ASSERT_TRUE(driver.start());
    m.run(1, 100);
    ASSERT_TRUE(driver.stop());
    m.run(101, 200);
    const auto seen = froms(driver);
    ASSERT_EQ(seen.size(), driver.layout().depth) << name;
    for (std::size_t n = 0; n < seen.size(); ++n) EXPECT_EQ(seen[n], 100 - n) << name;
  }
}

TEST(LbrDriver, PassesOverARecordThatIsNoBranch) {
  Machine m("zen4-raphael");
  LbrDriver driver = open(m);
  ASSERT_TRUE(driver.start());
  m.run(1, 3);
  ASSERT_TRUE(driver.stop());
  const std::uint32_t to1 = driver.layout().to_msr(1);
  ASSERT_TRUE(m.cpu.write_msr(to1, m.read(to1) | 1ull << 61));
  EXPECT_THAT(froms(driver), ElementsAre(3, 1)) << "erratum 1452";
}

TEST(LbrDriver, StartEmptiesTheStack) {
  for (const char* name : {"pentium4-northwood", "pentium4-prescott", "core2-merom", "skylake",
                           "sapphire-rapids", "zen4-raphael"}) {
    Machine m(name);
    LbrDriver driver = open(m);
    ASSERT_TRUE(driver.start());
    m.run(1, 100);
    ASSERT_TRUE(driver.stop());
    ASSERT_TRUE(driver.start());
    m.run(7, 8);
    EXPECT_THAT(froms(driver), ElementsAre(8, 7)) << name;
  }
}

TEST(LbrDriver, SelectsPrivilegeLevels) {
  for (const char* name : {"nehalem", "skylake", "alder-lake", "zen4-raphael"}) {
    Machine m(name);
    LbrDriver driver = open(m, {.os = false, .user = true});
    ASSERT_TRUE(driver.start());
    m.run(1, 1);
    m.cpu.branch({.from = 2, .to = 0x1002, .from_cpl = 3, .to_cpl = 0});
    m.cpu.branch({.from = 3, .to = 0x1003, .from_cpl = 0, .to_cpl = 3});
    EXPECT_THAT(froms(driver), ElementsAre(3, 1)) << name;
  }
}

TEST(LbrDriver, KeepsTheCallStack) {
  for (const char* name : {"haswell", "skylake", "sapphire-rapids"}) {
    Machine m(name);
    LbrDriver driver = open(m, {.call_stack = true});
    ASSERT_TRUE(driver.start());
    using hw::BranchClass;
    m.cpu.branch({.from = 1, .to = 0x1001, .cls = BranchClass::rel_call});
    m.cpu.branch({.from = 2, .to = 0x1002, .cls = BranchClass::ind_call});
    m.cpu.branch({.from = 3, .to = 0x1003, .cls = BranchClass::cond});
    m.cpu.branch({.from = 4, .to = 0x1004, .cls = BranchClass::ret});
    EXPECT_THAT(froms(driver), ElementsAre(1)) << name;
  }
}

TEST(LbrDriver, PutsEverythingBack) {
  Machine m("sapphire-rapids", hw::perf_capabilities::kFreezeWhileSmm);
  ASSERT_TRUE(m.cpu.write_msr(msr::kArchLbrCtl, hw::arch_lbr_ctl::kOs));
  ASSERT_TRUE(m.cpu.write_msr(msr::kArchLbrDepth, 8));
  ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, 1 << 14));
  {
    LbrDriver driver = open(m, {.freeze = true});
    ASSERT_TRUE(driver.start());
    EXPECT_EQ(m.read(msr::kDebugctl), 1 << 14 | 1 << 11);
  }
  EXPECT_EQ(m.read(msr::kArchLbrCtl), hw::arch_lbr_ctl::kOs);
  EXPECT_EQ(m.read(msr::kArchLbrDepth), 8);
  EXPECT_EQ(m.read(msr::kDebugctl), 1 << 14);

  Machine old("nehalem");
  ASSERT_TRUE(old.cpu.write_msr(msr::kLbrSelect, 0x55));
  {
    static_cast<void>(open(old).start());
  }
  EXPECT_EQ(old.read(msr::kLbrSelect), 0x55);
  EXPECT_EQ(old.read(msr::kDebugctl), 0);

  Machine amd("zen4-raphael");
  {
    static_cast<void>(open(amd).start());
  }
  EXPECT_EQ(amd.read(msr::kAmdDebugExtnCfg), 0);
}

TEST(LbrDriver, RefusesWithTheReason) {
  const auto refusal = [](const char* name, const LbrOptions& options) {
    Machine m(name);
    const auto driver = LbrDriver::open(m.cpuid, m.cpu, options);
    return driver ? std::string() : driver.error().message;
  };
  EXPECT_EQ(refusal("skylake-vmware", {}),
            "the hypervisor (VMware) hides last branch records from this machine");
  EXPECT_THAT(refusal("core2-merom", {}), HasSubstr("cannot select privilege levels"));
  EXPECT_THAT(refusal("nehalem", {.call_stack = true}), HasSubstr("cannot keep a call stack"));
  EXPECT_THAT(refusal("pentium-m-dothan", {.os = true, .freeze = true}),
              HasSubstr("do not freeze"));
  EXPECT_THAT(refusal("skylake", {.os = false, .user = false}), HasSubstr("no privilege level"));
}

TEST(LbrDriver, LeavesAnotherUserAlone) {
  Machine m("skylake");
  ASSERT_TRUE(m.cpu.write_msr(msr::kDebugctl, 1));
  const auto driver = LbrDriver::open(m.cpuid, m.cpu, {});
  ASSERT_FALSE(driver);
  EXPECT_THAT(driver.error().message, HasSubstr("stop that one first"));
  EXPECT_EQ(m.read(msr::kDebugctl), 1);
}

}  // namespace
}  // namespace hodo::driver
