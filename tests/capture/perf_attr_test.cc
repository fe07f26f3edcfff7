#include "hodo/capture/perf_attr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "fake_sysfs.h"

namespace hodo::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

PtPmu machine(const Files& files) {
  FakeSystem system;
  system.add_pmu("intel_pt", files);
  auto pmu = read_pt_pmu(system.paths());
  EXPECT_TRUE(pmu);
  return *pmu;
}

Result<TraceEvent> event_on(const Files& files, const PtOptions& options) {
  return pt_event(machine(files), options, {}, 0);
}
std::uint64_t config_on(const Files& files, const PtOptions& options) {
  const auto event = event_on(files, options);
  EXPECT_TRUE(event) << event.error().message;
  return event ? event->attr.config : 0;
}
Error refusal_on(const Files& files, const PtOptions& options) {
  const auto event = event_on(files, options);
  EXPECT_FALSE(event);
  return event ? Error{} : event.error();
}

// The configs that `perf record -e intel_pt//u` shows with -vv on such machines.
TEST(PtEventTest, DefaultsOnSkylake) { EXPECT_EQ(config_on(skylake_pt(), {}), 0x300e601u); }
TEST(PtEventTest, DefaultsOnBroadwellFallBackAndSaySo) {
  const auto event = event_on(broadwell_pt(), {});
  ASSERT_TRUE(event);
  EXPECT_EQ(event->attr.config, 0x2401u);  // pt, tsc, branch
  EXPECT_THAT(event->notes, ElementsAre(HasSubstr("no MTC"), HasSubstr("psb_period is 0")));
}
TEST(PtEventTest, DefaultsAreSilentWhereTheyFit) {
  EXPECT_THAT(event_on(sapphire_rapids_pt(), {})->notes, IsEmpty());
}

TEST(PtEventTest, EveryOptionHasItsBits) {
  EXPECT_EQ(config_on(skylake_pt(), {.mtc = false}), 0x3002401u);
  EXPECT_EQ(config_on(skylake_pt(), {.branch = false}), 0x300c601u);
  EXPECT_EQ(config_on(skylake_pt(), {.tsc = false}), 0x300e201u);
  EXPECT_EQ(config_on(skylake_pt(), {.return_compression = false}), 0x300ee01u);
  EXPECT_EQ(config_on(skylake_pt(), {.mtc_period = 9}), 0x3026601u);
  EXPECT_EQ(config_on(skylake_pt(), {.cyc = true}), 0x300e603u);
  EXPECT_EQ(config_on(skylake_pt(), {.cyc = true, .cyc_thresh = 13}), 0x368e603u);
  EXPECT_EQ(config_on(skylake_pt(), {.psb_period = 5}), 0x500e601u);
  EXPECT_EQ(config_on(skylake_pt(), {.psb_period = 0}), 0xe601u);
}

TEST(PtEventTest, DemandsAreRefusedWithWhatThereIs) {
  const Error mtc = refusal_on(skylake_pt(), {.mtc_period = 5});
  EXPECT_EQ(mtc.code, ErrorCode::unsupported);
  EXPECT_THAT(mtc.message, HasSubstr("mtc_period 5"));
  EXPECT_THAT(mtc.message, HasSubstr("it has: 0,3,6,9"));
  EXPECT_THAT(refusal_on(skylake_pt(), {.psb_period = 6}).message, HasSubstr("it has: 0-5"));
  EXPECT_THAT(refusal_on(skylake_pt(), {.psb_period = 200}).message, HasSubstr("psb_period 200"));
  EXPECT_THAT(refusal_on(skylake_pt(), {.mtc_period = 200}).message, HasSubstr("mtc_period 200"));
  EXPECT_THAT(refusal_on(skylake_pt(), {.cyc = true, .cyc_thresh = 14}).message,
              HasSubstr("it has: 0-13"));
  EXPECT_THAT(refusal_on(broadwell_pt(), {.cyc = true}).message, HasSubstr("cyc is not supported"));
  EXPECT_THAT(refusal_on(broadwell_pt(), {.psb_period = 4}).message, HasSubstr("it has: 0"));
}

TEST(PtEventTest, AnMtcPeriodOfZeroMustBeAllowedToo) {
  const Files files = with(skylake_pt(), {{"caps/mtc_periods", "208"}});  // 3 9
  EXPECT_THAT(refusal_on(files, {.mtc_period = 0}).message, HasSubstr("it has: 3,9"));
}

TEST(PtEventTest, ZeroNeedsNoChoice) {
  EXPECT_EQ(config_on(broadwell_pt(), {.mtc = false, .psb_period = 0}), 0x2401u);
}

TEST(PtEventTest, TheNearestPeriodStandsInForTheDefault) {
  const auto above = event_on(with(skylake_pt(), {{"caps/mtc_periods", "240"}}), {});  // 6 9
  ASSERT_TRUE(above);
  EXPECT_EQ(above->attr.config >> 14 & 15, 6u);
  EXPECT_THAT(above->notes, ElementsAre("mtc_period is 6: this processor has no 3"));
  const auto below = event_on(with(skylake_pt(), {{"caps/psb_periods", "27"}}), {});  // 0 1 2 5
  ASSERT_TRUE(below);
  EXPECT_EQ(below->attr.config >> 24 & 15, 2u);
}

TEST(PtEventTest, ThresholdWithoutCycIsAUsageError) {
  EXPECT_EQ(refusal_on(skylake_pt(), {.cyc_thresh = 3}).code, ErrorCode::usage);
}

TEST(PtEventTest, KernelsBeforeThePtBitAlwaysTraceBranches) {
  Files files = skylake_pt();
  files.erase("format/pt");
  files.erase("format/branch");
  EXPECT_EQ(config_on(files, {}), 0x300c600u);
  EXPECT_THAT(refusal_on(files, {.branch = false}).message, HasSubstr("without branches"));
}

TEST(PtEventTest, AMissingFieldIsNamed) {
  Files files = skylake_pt();
  files.erase("format/noretcomp");
  EXPECT_THAT(refusal_on(files, {}).message, HasSubstr("\"noretcomp\""));
}

// The bytes as the kernel reads them: offsets of struct perf_event_attr, PERF_ATTR_SIZE_VER7.
struct AttrBytes {
  explicit AttrBytes(const perf_event_attr& attr) { std::memcpy(bytes, &attr, sizeof bytes); }
  std::uint32_t u32(int at) const {
    std::uint32_t v;
    std::memcpy(&v, bytes + at, 4);
    return v;
  }
  std::uint64_t u64(int at) const {
    std::uint64_t v;
    std::memcpy(&v, bytes + at, 8);
    return v;
  }
  std::uint8_t bytes[PERF_ATTR_SIZE_VER7];
};
constexpr std::uint64_t bit(int n) { return std::uint64_t{1} << n; }

TEST(PtEventTest, Bytes) {
  const auto event = pt_event(machine(skylake_pt()), {}, {}, 0x8000);
  ASSERT_TRUE(event);
  const AttrBytes attr(event->attr);
  EXPECT_EQ(attr.u32(0), 8u);  // type
  EXPECT_EQ(attr.u32(4), sizeof(perf_event_attr));
  EXPECT_EQ(attr.u64(8), 0x300e601u);  // config
  EXPECT_EQ(attr.u64(16), 1u);         // sample_period
  EXPECT_EQ(attr.u64(24), 0x10087u);   // IDENTIFIER | IP | TID | TIME | CPU
  EXPECT_EQ(attr.u64(32), 4u);         // read_format: ID
  // disabled, inherit, exclude_kernel, exclude_hv, enable_on_exec, sample_id_all
  EXPECT_EQ(attr.u64(40), bit(0) | bit(1) | bit(5) | bit(6) | bit(12) | bit(18));
  EXPECT_EQ(attr.u32(104), 0x8000u);  // aux_watermark
  EXPECT_EQ(event->name, "intel_pt//u");
}

TEST(PtEventTest, KernelAndThreadScopes) {
  const PtPmu pmu = machine(skylake_pt());
  const auto kernel = pt_event(pmu, {}, {.level = Level::both}, 0);
  EXPECT_EQ(kernel->attr.exclude_kernel, 0u);
  EXPECT_EQ(kernel->attr.exclude_user, 0u);
  EXPECT_EQ(kernel->name, "intel_pt//");
  const auto only = pt_event(pmu, {}, {.level = Level::kernel}, 0);
  EXPECT_EQ(only->attr.exclude_kernel, 0u);
  EXPECT_EQ(only->attr.exclude_user, 1u);
  EXPECT_EQ(only->name, "intel_pt//k");
  const auto threads = pt_event(pmu, {}, {.only_threads = true}, 0);
  EXPECT_EQ(threads->attr.inherit, 1u);
  EXPECT_EQ(threads->attr.inherit_thread, 1u);
  const auto alone = pt_event(pmu, {}, {.inherit = false, .only_threads = true}, 0);
  EXPECT_EQ(alone->attr.inherit, 0u);
  EXPECT_EQ(alone->attr.inherit_thread, 0u);  // the kernel refuses it without inherit
}

TEST(BtsEventTest, HasNoOptionsButItsScope) {
  const TraceEvent event = bts_event(12, {}, 4096);
  EXPECT_EQ(event.name, "intel_bts//u");
  EXPECT_EQ(event.attr.type, 12u);
  EXPECT_EQ(event.attr.config, 0u);
  EXPECT_EQ(event.attr.aux_watermark, 4096u);
  EXPECT_EQ(event.attr.disabled, 1u);
  EXPECT_EQ(event.attr.enable_on_exec, 1u);
  EXPECT_EQ(event.attr.exclude_kernel, 1u);
  EXPECT_EQ(bts_event(12, {.level = Level::both}, 0).name, "intel_bts//");
}

TEST(StackEventTest, SamplesAnyBranchOfTheLevelsAskedFor) {
  const FakeSystem system;
  const TraceEvent user = stack_event(system.paths(), 1000, {});
  EXPECT_EQ(user.name, "branches:u");
  EXPECT_EQ(user.attr.type, 0u);    // PERF_TYPE_HARDWARE
  EXPECT_EQ(user.attr.config, 4u);  // PERF_COUNT_HW_BRANCH_INSTRUCTIONS
  EXPECT_EQ(user.attr.sample_period, 1000u);
  EXPECT_EQ(user.attr.sample_type, 0x10887u);        // with PERF_SAMPLE_BRANCH_STACK
  EXPECT_EQ(user.attr.branch_sample_type, 1u | 8u);  // USER, ANY
  EXPECT_EQ(stack_event(system.paths(), 1, {.level = Level::kernel}).attr.branch_sample_type,
            2u | 8u);
  EXPECT_EQ(stack_event(system.paths(), 1, {.level = Level::kernel}).name, "branches:k");
  const TraceEvent both = stack_event(system.paths(), 1, {.level = Level::both});
  EXPECT_EQ(both.attr.branch_sample_type, 1u | 2u | 8u);
  EXPECT_EQ(both.name, "branches");
}

TEST(StackEventTest, ZenThreeHasAnEventOfItsOwn) {
  const FakeSystem system;
  system.add_pmu("cpu", {{"type", "4"}, {"events/branch-brs", "event=0xc4"}});
  const TraceEvent event = stack_event(system.paths(), 1000, {});
  EXPECT_EQ(event.attr.type, 4u);  // PERF_TYPE_RAW
  EXPECT_EQ(event.attr.config, 0xc4u);
  EXPECT_EQ(event.name, "branch-brs:u");
}

TEST(TrackingAttrTest, Bytes) {
  const AttrBytes attr(tracking_attr({}));
  EXPECT_EQ(attr.u32(0), 1u);  // PERF_TYPE_SOFTWARE
  EXPECT_EQ(attr.u64(8), 9u);  // PERF_COUNT_SW_DUMMY
  EXPECT_EQ(attr.u64(24), 0x10087u);
  // inherit, exclude_kernel, exclude_hv, mmap, comm, task, sample_id_all, mmap2, comm_exec,
  // context_switch, build_id
  EXPECT_EQ(attr.u64(40), bit(1) | bit(5) | bit(6) | bit(8) | bit(9) | bit(13) | bit(18) | bit(23) |
                              bit(24) | bit(26) | bit(34));
}

TEST(TrackingAttrTest, KernelScopeSeesItsSymbols) {
  const perf_event_attr attr = tracking_attr({.level = Level::both});
  EXPECT_EQ(attr.ksymbol, 1u);
  EXPECT_EQ(attr.bpf_event, 1u);
  EXPECT_EQ(attr.exclude_kernel, 0u);
}

TEST(FilterTextTest, RangesInFiles) {
  const PtCaps caps{.ip_filtering = true, .nr_addr_filters = 2};
  const std::vector<FilterRange> ranges = {{"/bin/ls", 0x4000, 0x200}, {"/lib/x.so", 0, 16}};
  EXPECT_EQ(filter_text(caps, ranges), "filter 0x4000/0x200@/bin/ls filter 0x0/0x10@/lib/x.so");
  EXPECT_EQ(filter_text(caps, {}), "");
}

TEST(FilterTextTest, Refusals) {
  const PtCaps caps{.ip_filtering = true, .nr_addr_filters = 2};
  const auto refusal = [&](std::vector<FilterRange> ranges, const PtCaps& on) {
    const auto text = filter_text(on, ranges);
    EXPECT_FALSE(text);
    return text ? Error{} : text.error();
  };
  const FilterRange ok{"/bin/ls", 1, 2};
  EXPECT_THAT(refusal({ok}, {}).message, HasSubstr("cannot filter by address"));
  EXPECT_THAT(refusal({ok, ok, ok}, caps).message, HasSubstr("2 address filters, not 3"));
  EXPECT_EQ(refusal({{"", 0x1000, 1}}, caps).code, ErrorCode::unsupported);
  EXPECT_EQ(refusal({{"/bin/ls", 1, 0}}, caps).code, ErrorCode::usage);
  EXPECT_EQ(refusal({{"/bin/ls", 1, ~std::uint64_t{0}}}, caps).code, ErrorCode::usage);
  EXPECT_THAT(refusal({{"/my files/x", 1, 1}}, caps).message, HasSubstr("/my files/x"));
}

TEST(DescribePtTest, BitsComeFromThePmu) {
  const PtPmu pmu = machine(skylake_pt());
  const auto event = pt_event(pmu, {.cyc = true}, {}, 0);
  const perfdata::PtConfig config = describe_pt(pmu, event->attr);
  EXPECT_EQ(config.pmu_type, 8u);
  EXPECT_EQ(config.config, event->attr.config);
  EXPECT_EQ(config.mtc_freq_bits, 0x3c000u);
  EXPECT_EQ(config.cyc_bit, 2u);
  EXPECT_EQ(config.tsc_ctc_n, 284u);
  EXPECT_EQ(config.tsc_ctc_d, 2u);
  EXPECT_EQ(config.max_nonturbo_ratio, 34u);
}

}  // namespace
}  // namespace hodo::capture
