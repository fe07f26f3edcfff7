#include "hodo/capture/pmu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_sysfs.h"

namespace hodo::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FormatFieldTest, OneBit) {
  const auto field = FormatField::parse("config:13");
  ASSERT_TRUE(field);
  EXPECT_EQ(field->word(), 0);
  EXPECT_EQ(field->mask(), 0x2000u);
  EXPECT_EQ(field->max(), 1u);
  EXPECT_EQ(field->place(1), 0x2000u);
  EXPECT_EQ(field->place(2), std::nullopt);
}

TEST(FormatFieldTest, RangeOfBits) {
  const auto field = FormatField::parse("config:14-17");
  ASSERT_TRUE(field);
  EXPECT_EQ(field->mask(), 0x3c000u);
  EXPECT_EQ(field->place(9), 9u << 14);
  EXPECT_EQ(field->place(16), std::nullopt);
  EXPECT_EQ(field->extract(0xffff'ffff'ffff'ffff), 15u);
}

TEST(FormatFieldTest, ScatteredBitsOfAnotherWord) {
  const auto field = FormatField::parse("config2:0-1,8,60-63");
  ASSERT_TRUE(field);
  EXPECT_EQ(field->word(), 2);
  EXPECT_EQ(field->mask(), 0xf000'0000'0000'0103u);
  EXPECT_EQ(field->place(0b1000'101), 0x8000'0000'0000'0101u);
  EXPECT_EQ(field->extract(*field->place(0b1000'101)), 0b1000'101u);
}

TEST(FormatFieldTest, WholeWord) {
  const auto field = FormatField::parse("config1:0-63");
  ASSERT_TRUE(field);
  EXPECT_EQ(field->mask(), ~std::uint64_t{0});
  EXPECT_EQ(field->place(~std::uint64_t{0}), ~std::uint64_t{0});
}

TEST(FormatFieldTest, RefusesWhatIsNoFormat) {
  for (const char* text :
       {"", "config", "config:", "config:64", "config:3-1", "config:1,", "config:a", "config4:0",
        "configx:0", "comfig:0", "config:1-", "config:-1", "config:99999999999999999999"}) {
    EXPECT_FALSE(FormatField::parse(text)) << text;
  }
}

TEST(CpuListTest, RangesAndSingles) {
  const auto cpus = parse_cpu_list("0-2,5,7-8");
  ASSERT_TRUE(cpus);
  EXPECT_THAT(*cpus, ElementsAre(0, 1, 2, 5, 7, 8));
}
TEST(CpuListTest, RefusesHugeAndBrokenLists) {
  for (const char* text : {"", "0-", "1-0", "0-4294967295", "x"}) {
    EXPECT_FALSE(parse_cpu_list(text)) << text;
  }
}

TEST(PmuTest, Broadwell) {
  FakeSystem system;
  system.add_pmu("intel_pt", broadwell_pt());
  const auto pmu = read_pt_pmu(system.paths());
  ASSERT_TRUE(pmu) << pmu.error().message;
  EXPECT_EQ(pmu->type, 6u);
  EXPECT_FALSE(pmu->caps.mtc);
  EXPECT_FALSE(pmu->caps.psb_cyc);
  EXPECT_FALSE(pmu->caps.topa_multiple_entries);
  EXPECT_TRUE(pmu->caps.topa_output);
  EXPECT_EQ(pmu->caps.nr_addr_filters, 0u);
  EXPECT_EQ(pmu->caps.tsc_art_numerator, 0u);
  EXPECT_EQ(pmu->caps.max_nonturbo_ratio, 27u);
}

TEST(PmuTest, SkylakeCapabilitiesAreHexadecimal) {
  FakeSystem system;
  system.add_pmu("intel_pt", skylake_pt());
  const auto pmu = read_pt_pmu(system.paths());
  ASSERT_TRUE(pmu) << pmu.error().message;
  EXPECT_EQ(pmu->type, 8u);
  EXPECT_EQ(pmu->caps.mtc_periods, 0x249u);
  EXPECT_EQ(pmu->caps.cycle_thresholds, 0x3fffu);
  EXPECT_EQ(pmu->caps.psb_periods, 0x3fu);
  EXPECT_EQ(pmu->caps.num_address_ranges, 2u);
  EXPECT_EQ(pmu->caps.nr_addr_filters, 2u);
  EXPECT_EQ(pmu->caps.max_nonturbo_ratio, 34u);
  EXPECT_EQ(pmu->caps.tsc_art_numerator, 284u);
  EXPECT_EQ(pmu->caps.tsc_art_denominator, 2u);
  ASSERT_NE(pmu->field("psb_period"), nullptr);
  EXPECT_EQ(pmu->field("psb_period")->mask(), 0xfu << 24);
  EXPECT_EQ(pmu->field("event"), nullptr);
}

TEST(PmuTest, SapphireRapidsKnowsTheNewestFields) {
  FakeSystem system;
  system.add_pmu("intel_pt", sapphire_rapids_pt());
  const auto pmu = read_pt_pmu(system.paths());
  ASSERT_TRUE(pmu) << pmu.error().message;
  EXPECT_TRUE(pmu->caps.event_trace);
  EXPECT_TRUE(pmu->caps.tnt_disable);
  ASSERT_NE(pmu->field("notnt"), nullptr);
  EXPECT_EQ(pmu->field("notnt")->mask(), std::uint64_t{1} << 55);
}

TEST(PmuTest, BadFilesAreNamed) {
  for (const auto& [path, text] : Files{{"type", "six"},
                                        {"caps/mtc_periods", "xyz"},
                                        {"format/tsc", "bits:1"},
                                        {"nr_addr_filters", "-1"},
                                        {"tsc_art_ratio", "284"},
                                        {"max_nonturbo_ratio", ""}}) {
    FakeSystem system;
    system.add_pmu("intel_pt", with(skylake_pt(), {{path, text}}));
    const auto pmu = read_pt_pmu(system.paths());
    ASSERT_FALSE(pmu) << path;
    EXPECT_EQ(pmu.error().code, ErrorCode::malformed);
    EXPECT_THAT(pmu.error().message, HasSubstr("intel_pt/" + path));
  }
}

TEST(PmuTest, MissingTypeOrFormatIsAnIoError) {
  for (const char* part : {"type", "format"}) {
    FakeSystem system;
    system.add_pmu("intel_pt", skylake_pt());
    std::filesystem::remove_all(system.root() + "/devices/intel_pt/" + part);
    const auto pmu = read_pt_pmu(system.paths());
    ASSERT_FALSE(pmu) << part;
    EXPECT_EQ(pmu.error().code, ErrorCode::io);
    EXPECT_THAT(pmu.error().message, HasSubstr(part));
  }
}

std::string absence(const FakeSystem& system) {
  const auto pmu = read_pt_pmu(system.paths());
  if (pmu) return "present";
  EXPECT_EQ(pmu.error().code, ErrorCode::unsupported);
  return pmu.error().message;
}

TEST(PmuTest, AbsenceIsExplained) {
  FakeSystem system;
  EXPECT_THAT(absence(system), HasSubstr("offers no intel_pt PMU"));
  system.set_cpuinfo("AuthenticAMD", "fpu tsc");
  EXPECT_THAT(absence(system), HasSubstr("needs an Intel processor"));
  system.set_cpuinfo("GenuineIntel", "fpu hypervisor tsc");
  EXPECT_THAT(absence(system), HasSubstr("virtual machine"));
  system.set_cpuinfo("GenuineIntel", "fpu tsc not_intel_pt intel_pt2");
  EXPECT_THAT(absence(system), HasSubstr("this processor has no Intel PT"));
  std::filesystem::remove_all(system.paths().event_source);
  EXPECT_THAT(absence(system), HasSubstr("sysfs is not mounted"));
}

TEST(PmuTest, Bts) {
  FakeSystem system;
  EXPECT_FALSE(has_bts(system.paths()));
  system.add_pmu("intel_bts", {{"type", "7"}});
  EXPECT_TRUE(has_bts(system.paths()));
}

TEST(PmuTest, AbsenceOfBtsIsExplained) {
  const auto reason = [](const std::string& vendor, const std::string& flags) {
    FakeSystem system;
    system.set_cpuinfo(vendor, flags);
    const auto type = read_bts_type(system.paths());
    return type ? "present" : type.error().message;
  };
  EXPECT_THAT(reason("AuthenticAMD", "fpu pti"), HasSubstr("needs an Intel processor"));
  EXPECT_THAT(reason("GenuineIntel", "fpu hypervisor dtes64"), HasSubstr("virtual machine"));
  EXPECT_THAT(reason("GenuineIntel", "fpu dtes64"), HasSubstr("BTS_UNAVAILABLE"));
  EXPECT_THAT(reason("GenuineIntel", "fpu bts pti"), HasSubstr("no DTES64"));
  EXPECT_THAT(reason("GenuineIntel", "dtes64 bts pti"), HasSubstr("nopti"));
  EXPECT_THAT(reason("GenuineIntel", "dtes64 bts ptid"), HasSubstr("built without the driver"));
}

}  // namespace
}  // namespace hodo::capture
