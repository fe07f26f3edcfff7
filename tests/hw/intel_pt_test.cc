#include "hodo/hw/intel_pt.h"

#include <gtest/gtest.h>

#include <bit>

namespace hodo::hw {
namespace {

// What CPUID says on a Skylake client (model 5E): two subleaves as the kernel's sysfs caps show
// them.
constexpr CpuidRegs kSkylake0{.eax = 1, .ebx = 0x0F, .ecx = 0x07, .edx = 0};
constexpr CpuidRegs kSkylake1{.eax = 0x02490002, .ebx = 0x003F3FFF, .ecx = 0, .edx = 0};

TEST(PtCapabilities, ReadsLeaf14) {
  const PtCapabilities caps = decode_pt_cpuid(kSkylake0, kSkylake1);
  EXPECT_TRUE(caps.cr3_filter);
  EXPECT_TRUE(caps.cyc);
  EXPECT_TRUE(caps.ip_filter);
  EXPECT_TRUE(caps.mtc);
  EXPECT_FALSE(caps.ptwrite);
  EXPECT_FALSE(caps.power_events);
  EXPECT_FALSE(caps.event_trace);
  EXPECT_FALSE(caps.disable_tnt);
  EXPECT_TRUE(caps.topa);
  EXPECT_TRUE(caps.topa_multiple);
  EXPECT_TRUE(caps.single_range);
  EXPECT_FALSE(caps.fabric);
  EXPECT_FALSE(caps.ip_is_lip);
  EXPECT_EQ(caps.addr_ranges, 2);
  EXPECT_EQ(caps.mtc_periods, 0x249);  // 0, 3, 6, 9
  EXPECT_EQ(caps.cyc_thresholds, 0x3FFF);
  EXPECT_EQ(caps.psb_periods, 0x3F);
}

TEST(PtCapabilities, WithoutSubleaf1ItsRegistersMeanNothing) {
  CpuidRegs subleaf0 = kSkylake0;
  subleaf0.eax = 0;
  const PtCapabilities caps = decode_pt_cpuid(subleaf0, kSkylake1);
  EXPECT_TRUE(caps.cyc);
  EXPECT_EQ(caps.addr_ranges, 0);
  EXPECT_EQ(caps.mtc_periods, 0);
  EXPECT_EQ(caps.cyc_thresholds, 0);
  EXPECT_EQ(caps.psb_periods, 0);
}

TEST(PtCapabilities, EveryBitIsWrittenWhereItIsRead) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    CpuidRegs subleaf0{.eax = 1};
    (bit < 32 ? subleaf0.ebx : subleaf0.ecx) = 1u << bit % 32;
    const PtCapabilities caps = decode_pt_cpuid(subleaf0, {});
    const PtCpuid again = encode_pt_cpuid(caps);
    const bool known = bit < 10 || (bit >= 32 && bit < 36) || bit == 63;
    EXPECT_EQ(caps != PtCapabilities{}, known) << bit;
    EXPECT_EQ(again.subleaf0.ebx, known ? subleaf0.ebx : 0u) << bit;
    EXPECT_EQ(again.subleaf0.ecx, known ? subleaf0.ecx : 0u) << bit;
  }
  const PtCpuid again = encode_pt_cpuid(decode_pt_cpuid(kSkylake0, kSkylake1));
  EXPECT_EQ(again.subleaf1.eax, kSkylake1.eax);
  EXPECT_EQ(again.subleaf1.ebx, kSkylake1.ebx);
}

TEST(PtCapabilities, AllowWhatTheProcessorHas) {
  const PtCapabilities none;
  EXPECT_EQ(none.allowed_rtit_ctl(), rtit_ctl::kTraceEn | rtit_ctl::kOs | rtit_ctl::kUser |
                                         rtit_ctl::kTscEn | rtit_ctl::kDisRetc |
                                         rtit_ctl::kBranchEn);
  const std::uint64_t skylake = decode_pt_cpuid(kSkylake0, kSkylake1).allowed_rtit_ctl();
  EXPECT_TRUE(skylake & rtit_ctl::kMtcEn);
  EXPECT_TRUE(skylake & rtit_ctl::kToPa);
  EXPECT_FALSE(skylake & rtit_ctl::kPtwEn);
  EXPECT_FALSE(skylake & rtit_ctl::kDisTnt);
  EXPECT_EQ(rtit_ctl::addr_cfg(1).get(skylake), 15u);
  EXPECT_EQ(rtit_ctl::addr_cfg(2).get(skylake), 0u);
}

TEST(RtitCtl, FieldsDoNotOverlap) {
  using namespace rtit_ctl;
  std::uint64_t seen = 0;
  int bits = 0;
  for (std::uint64_t mask : {kTraceEn,
                             kCycEn,
                             kOs,
                             kUser,
                             kPwrEvtEn,
                             kFupOnPtw,
                             kFabricEn,
                             kCr3Filter,
                             kToPa,
                             kMtcEn,
                             kTscEn,
                             kDisRetc,
                             kPtwEn,
                             kBranchEn,
                             kMtcFreq.mask(),
                             kCycThresh.mask(),
                             kPsbFreq.mask(),
                             kEventEn,
                             kDisTnt,
                             kInjectPsbPmiOnEnable,
                             addr_cfg(0).mask(),
                             addr_cfg(1).mask(),
                             addr_cfg(2).mask(),
                             addr_cfg(3).mask()}) {
    seen |= mask;
    bits += std::popcount(mask);
  }
  EXPECT_EQ(std::popcount(seen), bits);
  EXPECT_EQ(addr_cfg(3).mask(), 0xF00000000000u);
}

TEST(Field, SetsAndGets) {
  constexpr Field field{14, 4};
  EXPECT_EQ(field.mask(), 0x3C000u);
  EXPECT_EQ(field.set(~0ull, 5), ~0ull ^ 0x28000);
  EXPECT_EQ(field.get(field.set(0, 9)), 9u);
  EXPECT_EQ(field.set(0, 0x19), field.set(0, 9)) << "only the low bits of the value count";
  EXPECT_EQ((Field{0, 64}).mask(), ~0ull);
}

TEST(PsbPeriod, DoublesFrom2KiB) {
  EXPECT_EQ(psb_period_bytes(0), 2048u);
  EXPECT_EQ(psb_period_bytes(3), 16384u);
  EXPECT_EQ(psb_period_bytes(15), 64u << 20);
}

// The kernel passes these bits of attr.config to IA32_RTIT_CTL as they are.
TEST(PtConfig, TermsAreTheRegistersBits) {
  EXPECT_EQ(pt_config_term("cyc")->mask(), rtit_ctl::kCycEn);
  EXPECT_EQ(pt_config_term("pwr_evt")->mask(), rtit_ctl::kPwrEvtEn);
  EXPECT_EQ(pt_config_term("fup_on_ptw")->mask(), rtit_ctl::kFupOnPtw);
  EXPECT_EQ(pt_config_term("mtc")->mask(), rtit_ctl::kMtcEn);
  EXPECT_EQ(pt_config_term("tsc")->mask(), rtit_ctl::kTscEn);
  EXPECT_EQ(pt_config_term("noretcomp")->mask(), rtit_ctl::kDisRetc);
  EXPECT_EQ(pt_config_term("ptw")->mask(), rtit_ctl::kPtwEn);
  EXPECT_EQ(pt_config_term("branch")->mask(), rtit_ctl::kBranchEn);
  EXPECT_EQ(pt_config_term("mtc_period")->mask(), rtit_ctl::kMtcFreq.mask());
  EXPECT_EQ(pt_config_term("cyc_thresh")->mask(), rtit_ctl::kCycThresh.mask());
  EXPECT_EQ(pt_config_term("psb_period")->mask(), rtit_ctl::kPsbFreq.mask());
  EXPECT_EQ(pt_config_term("event")->mask(), rtit_ctl::kEventEn);
  EXPECT_EQ(pt_config_term("notnt")->mask(), rtit_ctl::kDisTnt);
  EXPECT_EQ(pt_config_term("pt")->mask(), 1u);
  EXPECT_FALSE(pt_config_term("psb"));
}

TEST(PtConfig, ReadsFormatFiles) {
  EXPECT_EQ(parse_config_format("config:14-17\n")->mask(), 0x3C000u);
  EXPECT_EQ(parse_config_format("config:10")->mask(), 0x400u);
  EXPECT_EQ(parse_config_format("config:0-63")->mask(), ~0ull);
  for (const char* bad : {"", "config:", "config1:3", "config:x", "config:3-", "config:64",
                          "config:5-3", "config:1,3", "config:0-7,9", "config:-1"}) {
    EXPECT_FALSE(parse_config_format(bad)) << bad;
  }
}

TEST(ToPa, EntriesSayTheirSize) {
  EXPECT_EQ(topa::region_bytes(0), 4096u);
  EXPECT_EQ(topa::region_bytes(15ull << 6 | topa::kEnd), 128ull << 20);
}

}  // namespace
}  // namespace hodo::hw
