// What real processors can, found from what their CPUID says.
#include "hodo/hw/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <ostream>

#include "hodo/hw/support.h"
#include "processors.h"

namespace hodo::hw {
namespace {

// Registers that can be read, by number.
class FakeMsrs final : public MsrBus {
 public:
  explicit FakeMsrs(std::map<std::uint32_t, std::uint64_t> values) : values_(std::move(values)) {}
  Result<std::uint64_t> read_msr(std::uint32_t number) override {
    const auto found = values_.find(number);
    if (found == values_.end()) return fail(ErrorCode::unsupported, "#GP");
    return found->second;
  }
  Status write_msr(std::uint32_t, std::uint64_t) override {
    return fail(ErrorCode::unsupported, "#GP");
  }

 private:
  std::map<std::uint32_t, std::uint64_t> values_;
};

struct Expected {
  const char* name;
  unsigned family, model;
  bool ds, dtes64, ds_cpl, pt;
  unsigned lbr_depth;
  LbrFormat lbr_format;
  std::uint64_t debugctl;  // bits that do not fault
};
void PrintTo(const Expected& e, std::ostream* out) { *out << e.name; }

class RealProcessors : public ::testing::TestWithParam<Expected> {};

TEST_P(RealProcessors, AreKnownByTheirCpuid) {
  const Expected& e = GetParam();
  const BranchFeatures f = find_branch_features(processor(e.name));
  EXPECT_EQ(f.signature.family, e.family);
  EXPECT_EQ(f.signature.model, e.model);
  EXPECT_EQ(f.ds, e.ds);
  EXPECT_EQ(f.dtes64, e.dtes64);
  EXPECT_EQ(f.ds_cpl, e.ds_cpl);
  EXPECT_EQ(f.pt.has_value(), e.pt);
  ASSERT_TRUE(f.lbr);
  EXPECT_EQ(f.lbr->depth, e.lbr_depth);
  EXPECT_EQ(f.lbr->format, e.lbr_format);
  EXPECT_EQ(f.debugctl.allowed(), e.debugctl);
  EXPECT_FALSE(f.hypervisor);
  EXPECT_EQ(static_cast<bool>(bts_support(f)), e.ds);
  EXPECT_TRUE(lbr_support(f));
  EXPECT_TRUE(btf_support(f));
}

// Depths: SDM, table "LBR Stack Size and TOS Pointer Range". DEBUGCTL: the figures of the sections
// on each generation.
INSTANTIATE_TEST_SUITE_P(
    FromPentium3ToSapphireRapidsAndZen4, RealProcessors,
    ::testing::Values(
        Expected{"pentium3-katmai", 6, 7, false, false, false, false, 1, LbrFormat::bits32, 0x7f},
        Expected{"pentium4-northwood", 15, 2, true, false, false, false, 4, LbrFormat::bits32,
                 0x1f},
        Expected{"pentium4-prescott", 15, 4, true, true, true, false, 16, LbrFormat::lip, 0x7f},
        Expected{"pentium-m-dothan", 6, 13, true, false, false, false, 8, LbrFormat::bits32, 0x1ff},
        Expected{"core-duo-yonah", 6, 14, true, false, false, false, 8, LbrFormat::bits32, 0x41c3},
        Expected{"core2-merom", 6, 15, true, true, true, false, 4, LbrFormat::lip, 0x5fc3},
        Expected{"core2-penryn", 6, 0x17, true, true, true, false, 4, LbrFormat::lip, 0x5fc3},
        Expected{"atom-pineview", 6, 0x1c, true, true, true, false, 8, LbrFormat::lip, 0x7fc3},
        Expected{"nehalem", 6, 0x1a, true, true, true, false, 16, LbrFormat::eip_flags, 0x7fc3},
        Expected{"sandy-bridge", 6, 0x2a, true, true, true, false, 16, LbrFormat::eip_flags,
                 0x7fc3},
        Expected{"silvermont", 6, 0x37, true, true, true, false, 8, LbrFormat::lip, 0x7fc3},
        Expected{"haswell", 6, 0x3c, true, true, true, false, 16, LbrFormat::eip_flags2, 0x7fc3},
        Expected{"broadwell-de", 6, 0x56, true, true, true, true, 16, LbrFormat::eip_flags2,
                 0xffc3},
        Expected{"skylake", 6, 0x5e, true, true, true, true, 32, LbrFormat::info, 0x7fc3},
        Expected{"goldmont", 6, 0x5c, true, true, true, true, 32, LbrFormat::time, 0x7fc3},
        Expected{"goldmont-plus", 6, 0x7a, true, true, true, true, 32, LbrFormat::info2, 0x7fc3},
        Expected{"alder-lake", 6, 0x97, true, true, true, true, 32, LbrFormat::arch, 0x7fc3},
        Expected{"sapphire-rapids", 6, 0x8f, true, true, true, true, 32, LbrFormat::arch, 0xffc7},
        Expected{"k8-clawhammer", 15, 4, false, false, false, false, 1, LbrFormat::lip, 0x3f},
        Expected{"zen2-matisse", 0x17, 0x71, false, false, false, false, 1, LbrFormat::lip, 0x3f},
        Expected{"zen3-vermeer", 0x19, 0x21, false, false, false, false, 1, LbrFormat::lip, 0x3f},
        Expected{"meteor-lake", 6, 0xaa, true, true, true, true, 32, LbrFormat::arch, 0x7fc7},
        Expected{"zen5-granite-ridge", 0x1a, 0x44, false, false, false, false, 16,
                 LbrFormat::amd_v2, 0x183f},
        Expected{"zen4-raphael", 0x19, 0x61, false, false, false, false, 16, LbrFormat::amd_v2,
                 0x3f}));

TEST(Features, NamesTheProcessor) {
  EXPECT_EQ(find_branch_features(processor("skylake")).brand,
            "Intel(R) Core(TM) i5-6400T CPU @ 2.20GHz");
  EXPECT_EQ(find_branch_features(processor("pentium3-katmai")).brand, "");
}

TEST(Features, NetburstHasDebugctlsBitsElsewhere) {
  const DebugctlLayout bits = find_branch_features(processor("pentium4-prescott")).debugctl;
  EXPECT_EQ(bits.tr, 1 << 2);
  EXPECT_EQ(bits.bts, 1 << 3);
  EXPECT_EQ(bits.btint, 1 << 4);
  EXPECT_EQ(bits.bts_off_os, 1 << 5);
  EXPECT_EQ(bits.bts_off_usr, 1 << 6);
}

// Alder Lake's leaves under the signature of Nova Lake: Intel's families above 15 go on where
// family 6 ended.
TEST(Features, IntelFamiliesAbove15AreHeirsOfFamily6) {
  const BranchFeatures f = find_branch_features(
      processor("alder-lake",
                "0x00000001 0x00: eax=0x00300f10 ebx=0x00200800 ecx=0x7ffafbbf edx=0xbfebfbff\n"));
  EXPECT_EQ(f.signature.family, 18);
  EXPECT_EQ(f.signature.model, 1);
  EXPECT_EQ(f.debugctl.allowed(), 0x7fc3);
  EXPECT_TRUE(btf_support(f));
  const BranchFeatures hidden = find_branch_features(
      processor("alder-lake",
                "0x00000001 0x00: eax=0x00300f10 ebx=0x00200800 ecx=0xfffafbbf edx=0xbfcbfbff\n"
                "0x00000007 0x00: eax=0x00000001 ebx=0xf1bfa7eb ecx=0x98c05fee edx=0xfc904510\n"));
  for (const Support& support : {pt_support(hidden), bts_support(hidden), lbr_support(hidden)}) {
    EXPECT_EQ(support.obstacle, Obstacle::hidden) << support.why;
  }
}

TEST(Features, ProcessorsWithoutModelSpecificLbrDiscardTheEnableBit) {
  const DebugctlLayout bits = find_branch_features(processor("sapphire-rapids")).debugctl;
  EXPECT_EQ(bits.lbr, 0);
  EXPECT_EQ(bits.ignored, 1);
}

// SPR's leaf 1CH: EAX 4000000B lists depths 8, 16 and 32.
TEST(Features, ArchitecturalDepthsAreListed) {
  const BranchFeatures f = find_branch_features(processor("sapphire-rapids"));
  EXPECT_EQ(f.arch_lbr_depths, 0xb);
  EXPECT_TRUE(f.lbr->call_stack);
  EXPECT_EQ(f.pt->addr_ranges, 2);
  EXPECT_TRUE(f.pt->ptwrite);
}

TEST(Features, RegistersCorrectTheTable) {
  FakeMsrs msrs(
      {{msr::kMiscEnable, misc_enable::kBtsUnavailable}, {msr::kPerfCapabilities, 0x3 << 8 | 7}});
  const BranchFeatures f = find_branch_features(processor("goldmont"), &msrs);
  EXPECT_EQ(f.lbr->format, LbrFormat::info2);
  EXPECT_EQ(f.lbr->info, msr::kLbrInfo);
  EXPECT_EQ(f.pebs_format(), 3);
  EXPECT_TRUE(f.bts_unavailable());
  EXPECT_FALSE(f.pebs_unavailable());
}

TEST(Support, SaysThatTheFirmwareSwitchedBtsOff) {
  FakeMsrs msrs(
      {{msr::kMiscEnable, misc_enable::kBtsUnavailable}, {msr::kPerfCapabilities, 0x345}});
  const Support bts = bts_support(find_branch_features(processor("skylake"), &msrs));
  EXPECT_EQ(bts.obstacle, Obstacle::switched_off);
  EXPECT_EQ(
      bts.why,
      "IA32_MISC_ENABLE says that BTS is unavailable: switched off by the firmware, or not in "
      "this processor");
}

TEST(Support, TellsHiddenByAHypervisorFromNotMade) {
  const BranchFeatures vm = find_branch_features(processor("skylake-vmware"));
  EXPECT_TRUE(vm.hypervisor);
  EXPECT_EQ(vm.hypervisor_name, "VMware");
  EXPECT_EQ(pt_support(vm).obstacle, Obstacle::hidden);
  EXPECT_EQ(pt_support(vm).why, "the hypervisor (VMware) hides Intel PT from this machine");
  EXPECT_EQ(bts_support(vm).obstacle, Obstacle::hidden);
  EXPECT_EQ(lbr_support(vm).obstacle, Obstacle::hidden);
  EXPECT_EQ(pt_support(find_branch_features(processor("haswell"))).why,
            "this processor has no Intel PT");
  EXPECT_EQ(bts_support(find_branch_features(processor("zen4-raphael"))).why,
            "this processor has no debug store (CPUID.1:EDX.DS), which BTS needs");
}

const std::string kKvm =
    "0x40000000 0x00: eax=0x40000001 ebx=0x4b4d564b ecx=0x564b4d56 edx=0x0000004d\n";

// KVM passes neither the debug store nor architectural LBR on.
TEST(Support, TellsHiddenArchitecturalLbrFromAnUnknownModel) {
  const BranchFeatures f = find_branch_features(processor(
      "sapphire-rapids",
      kKvm + "0x00000001 0x00: eax=0x000806f8 ebx=0x00800800 ecx=0xfffefbff edx=0xbfcbfbff\n"
             "0x00000007 0x00: eax=0x00000002 ebx=0xf1bfbffb ecx=0xbb417fee edx=0xffd54430\n"));
  EXPECT_FALSE(f.arch_lbr);
  EXPECT_EQ(lbr_support(f).obstacle, Obstacle::hidden);
  EXPECT_EQ(lbr_support(f).why, "the hypervisor (KVM) hides last branch records from this machine");
}

// Of leaf 80000022H it passes the counters on.
TEST(Support, KnowsWhichAmdProcessorsHaveAStack) {
  const auto under_kvm = [](const std::string& name, const std::string& leaf1) {
    return lbr_support(find_branch_features(
        processor(name, kKvm + leaf1 +
                            "0x80000022 0x00: eax=0x00000001 ebx=0x00000006 ecx=0x00000000 "
                            "edx=0x00000000\n")));
  };
  EXPECT_EQ(under_kvm("zen4-raphael",
                      "0x1 0x0: eax=0x00a60f12 ebx=0x000c0800 ecx=0xfef8320b edx=0x178bfbff\n")
                .why,
            "the hypervisor (KVM) hides last branch records (LbrExtV2) from this machine");
  // Genoa.
  EXPECT_FALSE(
      under_kvm("zen4-raphael", "0x1 0x0: eax=0x00a10f11 ebx=0x0 ecx=0xfef8320b edx=0x178bfbff\n"));
  EXPECT_FALSE(under_kvm("zen5-granite-ridge",
                         "0x1 0x0: eax=0x00b40f40 ebx=0x0 ecx=0xfef8320b edx=0x178bfbff\n"));
  EXPECT_TRUE(
      under_kvm("zen3-vermeer", "0x1 0x0: eax=0x00a20f10 ebx=0x0 ecx=0xfed8320b edx=0x178bfbff\n"));
}

// SDM vol. 4, IA32_MISC_ENABLE of the Pentium M, bit 12.
TEST(Support, PentiumMHasNoPebs) {
  EXPECT_EQ(pebs_support(find_branch_features(processor("pentium-m-dothan"))).why,
            "this processor has no PEBS");
  EXPECT_TRUE(pebs_support(find_branch_features(processor("core-duo-yonah"))));
}

TEST(Support, DoesNotBelieveInAStackWithoutEntries) {
  const BranchFeatures f = find_branch_features(
      processor("zen4-raphael",
                "0x80000022 0x00: eax=0x00000003 ebx=0x00000006 ecx=0x00000003 edx=0x00000000\n"));
  EXPECT_EQ(lbr_support(f).obstacle, Obstacle::unknown);
  EXPECT_EQ(lbr_support(f).why,
            "CPUID.80000022H says that there are last branch records, but none deep");
}

// The same processor with CPUID.7:EBX[25] cleared, as firmware does it.
TEST(Support, MissesIntelPtWhereItsGenerationHasIt) {
  const auto dump = CpuidDump::parse(
      "0x0 0x0: eax=0x7 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n"
      "0x1 0x0: eax=0x000506e3 ebx=0x0 ecx=0x0 edx=0x00200020\n"
      "0x7 0x0: eax=0x0 ebx=0x009c27ab ecx=0x0 edx=0x0\n");
  ASSERT_TRUE(dump);
  EXPECT_EQ(pt_support(find_branch_features(*dump)).obstacle, Obstacle::switched_off);
  for (const char* name : {"silvermont", "haswell", "atom-pineview", "zen2-matisse"}) {
    EXPECT_EQ(pt_support(find_branch_features(processor(name))).obstacle, Obstacle::not_made)
        << name;
  }
}

// Core Duo's records have format 0, which hypervisors without LBR also claim.
TEST(Support, FormatZeroMeansNothingOnARealProcessor) {
  FakeMsrs msrs({{msr::kPerfCapabilities, 0}});
  EXPECT_TRUE(lbr_support(find_branch_features(processor("core-duo-yonah"), &msrs)));
}

TEST(Support, DoesNotGuessAboutUnknownModels) {
  const auto dump = CpuidDump::parse(
      "0x0 0x0: eax=0x1 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n"
      "0x1 0x0: eax=0x000ff6f0 ebx=0x0 ecx=0x0 edx=0x20\n");
  ASSERT_TRUE(dump);
  const Support lbr = lbr_support(find_branch_features(*dump));
  EXPECT_EQ(lbr.obstacle, Obstacle::unknown);
  EXPECT_EQ(lbr.why, "no last branch records are known of Intel family 6 model 255");
}

TEST(CpuidDump, TakesTheFirstProcessorOnly) {
  const auto dump = CpuidDump::parse(
      "CPU 0:\r\n   0x00000000 0x00: eax=0x00000001 ebx=0x00000002 ecx=0x00000003 "
      "edx=0x00000004\r\n"
      "# a remark\n\n"
      "   0x00000001 0x00: eax=0x000506e3 ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n"
      "   0x00000007 0x01: eax=0x000000aa ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n"
      "CPU 1:\n   0x00000001 0x00: eax=0xffffffff ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n"
      "garbage");
  ASSERT_TRUE(dump) << dump.error().message;
  EXPECT_EQ(dump->leaf(1).eax, 0x000506e3);
  EXPECT_EQ(dump->leaf(0).edx, 4);
  EXPECT_EQ(dump->leaf(7, 1).eax, 0xaa);
  EXPECT_EQ(dump->leaf(7, 0).eax, 0);
  EXPECT_EQ(dump->leaf(0x80000000).eax, 0);
}

TEST(CpuidDump, MissesLeavesThatOthersPromise) {
  const auto without = [](const std::string& name, const std::string& leaf) {
    std::ifstream file(processor_file(name));
    std::string text, line;
    while (std::getline(file, line)) {
      if (line.find(leaf) == std::string::npos) text += line + '\n';
    }
    const auto dump = CpuidDump::parse(text);
    return dump ? "" : dump.error().message;
  };
  EXPECT_EQ(without("skylake", "0x00000007 0x00"),
            "the dump is not complete: leaf 0x00000007 0x00 is missing, which leaf 0x00000000 "
            "promises");
  EXPECT_THAT(without("skylake", "0x00000014 0x00"), ::testing::HasSubstr("leaf 0x00000014 0x00"));
  EXPECT_THAT(without("skylake", "0x00000014 0x01"),
              ::testing::HasSubstr("leaf 0x00000014 0x01 is missing, which leaf 0x00000014"));
  EXPECT_THAT(without("alder-lake", "0x0000001c 0x00"),
              ::testing::HasSubstr("leaf 0x0000001c 0x00"));
  EXPECT_THAT(without("zen4-raphael", "0x80000022 0x00"),
              ::testing::HasSubstr("leaf 0x80000022 0x00 is missing, which leaf 0x80000000"));
  EXPECT_EQ(without("haswell", "0x00000014"), "");
}

TEST(CpuidDump, NamesTheLineThatItCannotRead) {
  const auto parse_error = [](std::string_view text) {
    const auto dump = CpuidDump::parse(text);
    return dump ? "" : dump.error().message;
  };
  EXPECT_THAT(parse_error("CPU 0:\n   0x00000000 0x00: eax=0x1 ebx=0x2 ecx=0x3\n"),
              ::testing::StartsWith("line 2 is no line of cpuid -r"));
  EXPECT_THAT(parse_error("   vendor_id = \"GenuineIntel\"\n"),
              ::testing::StartsWith("line 1 is no line of cpuid -r"));
  EXPECT_THAT(parse_error("0x0 0x0: eax=0x1 ebx=0x2 ecx=0x3 edx=0x123456789\n"),
              ::testing::StartsWith("line 1 is no line"));
  EXPECT_EQ(parse_error("CPU 0:\n"),
            "leaves 0 and 1 are missing; the text has to be the output of cpuid -r");
  std::string many;
  for (unsigned n = 0; n <= 4096; ++n) {
    char line[96];
    std::snprintf(line, sizeof(line), "0x%x 0x0: eax=0x0 ebx=0x0 ecx=0x0 edx=0x0\n", n);
    many += line;
  }
  EXPECT_EQ(parse_error(many), "line 4097 is one leaf too many");
}

}  // namespace
}  // namespace hodo::hw
