// Time of branches, in TSC ticks.
#include "fixture.h"

namespace hodo::flow {
namespace {

using pt::PacketType;
using testing::ElementsAre;

const Code kLoop = Code().at(0x1000).jz(0x1000);

// MTC every 2^3 crystal clocks of 10 TSC ticks each; 40 TSC ticks are 4 bus clocks.
const Config kConfig{
    .mtc_freq = 3, .tsc_ctc_numerator = 10, .tsc_ctc_denominator = 1, .max_nonturbo_ratio = 40};

std::vector<std::uint64_t> times(const Trace& trace, const Config& config = kConfig) {
  const Decoded out = decode(kLoop, trace, config);
  std::vector<std::uint64_t> result;
  for (const Branch& branch : out.branches) {
    if (branch.kind == BranchKind::cond) result.push_back(branch.time);
  }
  return result;
}

TEST(Clock, UnknownUntilTheFirstTsc) {
  EXPECT_THAT(times(Trace().psb(0x1000).tnt("T").plain(PacketType::tsc, 1000).tnt("TT")),
              ElementsAre(0, 1000, 1000));
}

TEST(Clock, MtcCountsFromTheTma) {
  // TSC 1000 is 6 ticks behind a crystal clock that is 2 into its MTC period: the period began at
  // 974.
  Trace trace = Trace().psb(0x1000).plain(PacketType::tsc, 1000);
  trace.plain(PacketType::tma, 8 * 5 + 2, 6).plain(PacketType::mtc, 6).tnt("T");
  trace.plain(PacketType::mtc, 7).tnt("T").plain(PacketType::mtc, 9).tnt("T");
  EXPECT_THAT(times(trace), ElementsAre(974 + 80, 974 + 160, 974 + 320));
}

TEST(Clock, MtcWraps) {
  Trace trace = Trace().psb(0x1000).plain(PacketType::tsc, 100000);
  trace.plain(PacketType::tma, 8 * 255, 0).plain(PacketType::mtc, 1).tnt("T");
  trace.plain(PacketType::mtc, 1).tnt("T");  // the same number again: once round
  EXPECT_THAT(times(trace), ElementsAre(100000 + 2 * 80, 100000 + 258 * 80));
}

TEST(Clock, TmaKnowsOnlySomeBitsOfALongMtcPeriod) {
  Config config = kConfig;
  config.mtc_freq = 12;  // MTC has CTC[19:12], TMA CTC[15:0]: 4 bits in common
  Trace trace = Trace().psb(0x1000).plain(PacketType::tsc, 1000000);
  trace.plain(PacketType::tma, 0x3000, 0).plain(PacketType::mtc, 0xa4).tnt("T");
  trace.plain(PacketType::mtc, 0xa5).tnt("T").plain(PacketType::mtc, 0xc5).tnt("T");
  EXPECT_THAT(times(trace, config),
              ElementsAre(1000000 + 40960, 1000000 + 2 * 40960, 1000000 + 34 * 40960));
}

TEST(Clock, MtcWithoutTmaOrRatioIsIgnored) {
  EXPECT_THAT(
      times(Trace().psb(0x1000).plain(PacketType::tsc, 1000).plain(PacketType::mtc, 6).tnt("T")),
      ElementsAre(1000));
  EXPECT_THAT(times(Trace()
                        .psb(0x1000)
                        .plain(PacketType::tsc, 1000)
                        .plain(PacketType::tma, 42, 6)
                        .plain(PacketType::mtc, 6)
                        .tnt("T"),
                    {}),
              ElementsAre(1000));
}

TEST(Clock, TscWithoutItsTmaEndsTheMtcCount) {
  Trace trace = Trace().psb(0x1000).plain(PacketType::tsc, 1000).plain(PacketType::tma, 40, 0);
  trace.plain(PacketType::tsc, 1001).plain(PacketType::mtc, 9).tnt("T");
  EXPECT_THAT(times(trace), ElementsAre(1001));
}

TEST(Clock, CycCountsAtTheCoreToBusRatio) {
  // 20 core clocks per bus clock against 40 TSC ticks: a cycle is two ticks.
  Trace trace = Trace().psb(0x1000).plain(PacketType::cbr, 20).plain(PacketType::tsc, 1000);
  trace.plain(PacketType::cyc, 7).tnt("T").plain(PacketType::cyc, 3).tnt("T");
  EXPECT_THAT(times(trace), ElementsAre(1014, 1020));
}

TEST(Clock, CycStartsAnewAtTsc) {
  Trace trace = Trace().psb(0x1000).plain(PacketType::cbr, 40).plain(PacketType::tsc, 1000);
  trace.plain(PacketType::cyc, 50).plain(PacketType::tsc, 2000).plain(PacketType::cyc, 5).tnt("T");
  EXPECT_THAT(times(trace), ElementsAre(2005));
}

TEST(Clock, NeverGoesBack) {
  Trace trace = Trace().psb(0x1000).plain(PacketType::tsc, 1000).tnt("T");
  trace.plain(PacketType::tsc, 900).tnt("T").plain(PacketType::tsc, 1001).tnt("T");
  EXPECT_THAT(times(trace), ElementsAre(1000, 1000, 1001));
}

// A damaged time is left at the next PSB+, where the loss is told.
TEST(Clock, GoesBackAtAPsbAfterADamagedTime) {
  const std::uint64_t high = std::uint64_t{0x10} << 48;
  Trace trace = Trace().psb(0x1000, Trace::kExec64, 1000).tnt("T");
  trace.plain(PacketType::tsc, high + 1010).tnt("T").plain(PacketType::tsc, 1020).tnt("T");
  trace.psb(0x1000, Trace::kExec64, 1030).tnt("T").psb(0x1000, Trace::kExec64, 1040).tnt("T");
  EXPECT_THAT(times(trace), ElementsAre(1000, high + 1010, high + 1010, 1030, 1040));
  const Decoded out = decode(kLoop, trace, kConfig);
  ASSERT_THAT(out.losses, testing::SizeIs(1));
  EXPECT_EQ(out.losses[0].cause, LossCause::bad_time);
  EXPECT_EQ(out.losses[0].time, 1030u);
  EXPECT_EQ(out.losses[0].last_ip, 0x1000u);
}

TEST(Clock, GoesBackAfterADamagedCycleCount) {
  Trace trace = Trace().psb(0x1000, Trace::kExec64, 1000).plain(PacketType::cbr, 20).tnt("T");
  trace.plain(PacketType::cyc, std::uint64_t{1} << 40)
      .tnt("T")
      .psb(0x1000, Trace::kExec64, 2000)
      .tnt("T");
  EXPECT_THAT(times(trace), ElementsAre(1000, 1000 + (std::uint64_t{1} << 41), 2000));
}

TEST(Clock, StandsStillAtAPsbThatItIsALittleAheadOf) {
  Trace trace = Trace()
                    .psb(0x1000, Trace::kExec64, 1000)
                    .plain(PacketType::cbr, 20)
                    .plain(PacketType::cyc, 60);
  trace.tnt("T")
      .psb(0x1000, Trace::kExec64, 1100)
      .tnt("T")
      .psb(0x1000, Trace::kExec64, 1200)
      .tnt("T");
  EXPECT_THAT(times(trace), ElementsAre(1120, 1120, 1200));
  EXPECT_THAT(decode(kLoop, trace, kConfig).losses, testing::IsEmpty());
}

TEST(Clock, TscWrapsAt56Bits) {
  const std::uint64_t top = (std::uint64_t{1} << 56) - 1;
  EXPECT_THAT(times(Trace()
                        .psb(0x1000)
                        .plain(PacketType::tsc, top)
                        .tnt("T")
                        .plain(PacketType::tsc, 4)
                        .tnt("T")),
              ElementsAre(top, top + 5));
}

TEST(Clock, OverflowBreaksTheMtcCount) {
  Trace trace = Trace().psb(0x1000).plain(PacketType::tsc, 1000).plain(PacketType::tma, 40, 0);
  trace.ovf().fup(0x1000).plain(PacketType::mtc, 9).tnt("T");
  EXPECT_THAT(times(trace), ElementsAre(1000));
}

TEST(Clock, EveryRatioIsSafe) {
  for (const Config& config :
       {Config{.mtc_freq = 255,
               .tsc_ctc_numerator = ~0u,
               .tsc_ctc_denominator = 1,
               .max_nonturbo_ratio = ~0u},
        Config{.tsc_ctc_numerator = 1, .tsc_ctc_denominator = 0},
        Config{.mtc_freq = 15, .tsc_ctc_numerator = 1, .tsc_ctc_denominator = ~0u}}) {
    Trace trace = Trace().psb(0x1000).plain(PacketType::cbr, 1).plain(PacketType::tsc, 1);
    trace.plain(PacketType::tma, 0xffff, 0x1ff).plain(PacketType::mtc, 0).plain(PacketType::mtc, 0);
    constexpr std::uint64_t kHuge = (std::uint64_t{1} << 60) - 1;
    trace.plain(PacketType::cyc, kHuge).plain(PacketType::cyc, kHuge);
    EXPECT_EQ(times(trace.tnt("T"), config).size(), 1u);
  }
}

}  // namespace
}  // namespace hodo::flow
