// Packets as processors with mistakes write them: with the erratum the path is whole or its loss
// small, without it is not. libipt knows the same errata and has to come to the same instructions.
#include "fixture.h"
#include "libipt_reference.h"

namespace hodo::flow {
namespace {

using pt::PacketType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kInTx = 1, kAbort = 2;  // MODE.TSX

// The branches, if both decoders execute the same instructions.
std::vector<std::string> path_as_libipt(const Code& code, const Trace& trace,
                                        const pt::Errata& errata) {
  const Decoded out = decode(code, trace, {.errata = errata, .want_instructions = true});
  EXPECT_EQ(out.instructions, libipt_path(trace.bytes(), code, {.errata = errata}).ips);
  return out.text();
}

const Code kLoop = Code().at(0x1000).nop().jz(0x1000);

// --- SKD007

Trace overflow_in_a_cyc() {
  // A CYC of two bytes, whose second one never came.
  return Trace().psb(0x1000).tnt("T").raw({0x07}).ovf().fup(0x1001).tnt("T");
}

TEST(Errata, Skd007TakesAnOverflowOutOfACyc) {
  EXPECT_THAT(
      path_as_libipt(kLoop, overflow_in_a_cyc(), {.skd007 = true}),
      ElementsAre("begin 0>1000 resync", "cond 1001>1000", "lost 1000>1001", "cond 1001>1000"));
}

TEST(Errata, Skd007IsOfSomeProcessorsOnly) {
  const Decoded out = decode(kLoop, overflow_in_a_cyc());
  EXPECT_EQ(out.stats.packets[static_cast<int>(PacketType::ovf)], 0u);
}

// --- SKD010

// Addresses that no IP packet has a part of.
constexpr std::uint64_t kA = 0x550000001000, kB = 0x550000002000;
const Code kFar = Code().at(kA).jz(kA).ijmp().at(kB).nop().jz(kB).ijmp();

TEST(Errata, Skd010GoesOnAtATip) {
  const Trace trace = Trace().psb(kA).tnt("T").ovf().tip(kB).tnt("T");
  EXPECT_THAT(path_as_libipt(kFar, trace, {.skd010 = true}),
              ElementsAre("begin 0>550000001000 resync", "cond 550000001000>550000001000",
                          "lost 550000001000>550000002000", "cond 550000002001>550000002000"));
}

TEST(Errata, Skd010SkipsOutcomesOfBranchesThatNobodyKnows) {
  // libipt gives up to the next PSB here.
  const Decoded out =
      decode(kFar, Trace().psb(kA).tnt("T").ovf().tnt("NNT").tip(kB).tip(kA).tnt("T"),
             {.errata = {.skd010 = true}});
  EXPECT_THAT(out.text(),
              ElementsAre("begin 0>550000001000 resync", "cond 550000001000>550000001000",
                          "lost 550000001000>550000001000", "cond 550000001000>550000001000"));
  EXPECT_EQ(out.stats.losses[static_cast<int>(LossCause::overflow)], 2u);
  EXPECT_THAT(out.losses.back().reason, HasSubstr("SKD010"));
}

TEST(Errata, Skd010WantsAWholeAddress) {
  // The FUP that was dropped may have set the upper part of the last IP.
  Trace trace = Trace().psb(kA).tnt("T").ovf();
  trace.raw({0x2d, 0x00, 0x20}).tnt("T").tip(kB).tnt("T");
  EXPECT_THAT(decode(Code(kFar).at(0x2000).jz(0x2000), trace, {.errata = {.skd010 = true}}).text(),
              ElementsAre("begin 0>550000001000 resync", "cond 550000001000>550000001000",
                          "lost 550000001000>550000002000", "cond 550000002001>550000002000"));
}

TEST(Errata, Skd010EndsAtATipPge) {
  const Trace trace = Trace().psb(kA).tnt("T").ovf().tnt("N").pgd().pge(kB).tnt("T");
  EXPECT_THAT(
      decode(kFar, trace, {.errata = {.skd010 = true}}).text(),
      ElementsAre("begin 0>550000001000 resync", "cond 550000001000>550000001000",
                  "lost 550000001000>0", "begin 0>550000002000", "cond 550000002001>550000002000"));
}

TEST(Errata, Skd010IsOfSomeProcessorsOnly) {
  const Decoded out = decode(kFar, Trace().psb(kA).tnt("T").ovf().tip(kB).tnt("T"));
  EXPECT_EQ(out.stats.losses[static_cast<int>(LossCause::impossible_outcome)], 1u);
}

// --- SKD022

TEST(Errata, Skd022IsAVmEntryAndNoInterrupt) {
  const Code code = Code().at(0x1000).nop().vmlaunch().jz(0x1000);
  const Trace trace = Trace().psb(0x1000).fup(0x1001).pgd().pge(0x1004).tnt("T");
  EXPECT_THAT(
      path_as_libipt(code, trace, {.skd022 = true}),
      ElementsAre("begin 0>1000 resync", "vmentry 1001>0 end", "begin 0>1004", "cond 1004>1000"));
  EXPECT_THAT(
      path_as_libipt(code, trace, {}),
      ElementsAre("begin 0>1000 resync", "end 1001>0 end async", "begin 0>1004", "cond 1004>1000"));
}

TEST(Errata, Skd022LeavesInterruptsElsewhereAlone) {
  const Trace trace = Trace().psb(0x1000).fup(0x1001).pgd().pge(0x1001).tnt("T");
  EXPECT_THAT(
      path_as_libipt(kLoop, trace, {.skd022 = true}),
      ElementsAre("begin 0>1000 resync", "end 1001>0 end async", "begin 0>1001", "cond 1001>1000"));
}

// --- APL12

TEST(Errata, Apl12IgnoresAFupWhileTracingIsOff) {
  EXPECT_THAT(decode(kLoop, Trace().psb().ovf().fup(0x3000).pge(0x1001).tnt("T"),
                     {.errata = {.apl12 = true}})
                  .text(),
              ElementsAre("lost 0>0", "begin 0>1001", "cond 1001>1000"));
}

TEST(Errata, Apl12GoesByWhatFollows) {
  const pt::Errata apl12{.apl12 = true};
  EXPECT_THAT(path_as_libipt(kLoop, Trace().psb().ovf().fup(0x1000).tnt("T"), apl12),
              ElementsAre("lost 0>1000", "cond 1001>1000"));
  EXPECT_THAT(
      path_as_libipt(kLoop, Trace().psb().ovf().fup(0x3000).psb().pge(0x1000).tnt("T"), apl12),
      ElementsAre("lost 0>0", "begin 0>1000", "cond 1001>1000"));
  EXPECT_THAT(path_as_libipt(kLoop, Trace().psb().ovf().fup(0x1001).psb(0x1001).tnt("T"), apl12),
              ElementsAre("lost 0>1001", "cond 1001>1000"));
}

TEST(Errata, Apl12IsOfSomeProcessorsOnly) {
  const Decoded out = decode(kLoop, Trace().psb().ovf().fup(0x3000).pge(0x1001).tnt("T"));
  EXPECT_EQ(out.stats.losses[static_cast<int>(LossCause::impossible_outcome)], 1u);
}

// --- BDM64

// In a transaction a jump goes to 0x2000, where it is aborted at once.
const Code kTransaction = Code()
                              .at(0x1000)
                              .xbegin(0x1200)
                              .ijmp()
                              .at(0x1200)
                              .jz(0x1000)
                              .at(0x2000)
                              .nop()
                              .nop()
                              .jz(0x2000)
                              .at(0x3000)
                              .nop()
                              .ijmp();

Trace aborted(std::uint64_t target, std::uint64_t at) {
  return Trace()
      .psb(0x1000)
      .plain(PacketType::mode_tsx, kInTx)
      .fup(0x1006)
      .tip(target)
      .plain(PacketType::mode_tsx, kAbort)
      .fup(at)
      .tip(0x1200)
      .tnt("N");
}

TEST(Errata, Bdm64GoesWhereTheAbortCame) {
  EXPECT_THAT(path_as_libipt(kTransaction, aborted(0x3000, 0x2000), {.bdm64 = true}),
              ElementsAre("begin 0>1000 resync", "ijmp 1006>2000 tx", "abort 2000>1200"));
}

TEST(Errata, Bdm64BelievesATargetThatLeadsThere) {
  EXPECT_THAT(path_as_libipt(kTransaction, aborted(0x2000, 0x2001), {.bdm64 = true}),
              ElementsAre("begin 0>1000 resync", "ijmp 1006>2000 tx", "abort 2001>1200"));
}

TEST(Errata, Bdm64OfAConditionalBranchIsASmallLoss) {
  const Code code =
      Code().at(0x1000).xbegin(0x1200).jz(0x2000).nop().ijmp().at(0x1200).nop().at(0x2000).nop();
  const Trace trace = Trace()
                          .psb(0x1000)
                          .plain(PacketType::mode_tsx, kInTx)
                          .fup(0x1006)
                          .tnt("N")
                          .plain(PacketType::mode_tsx, kAbort)
                          .fup(0x2000)
                          .tip(0x1200);
  const Decoded out = decode(code, trace, {.errata = {.bdm64 = true}});
  EXPECT_THAT(out.text(),
              ElementsAre("begin 0>1000 resync", "lost 100c>2000 tx", "abort 2000>1200"));
  ASSERT_THAT(out.losses, SizeIs(1));
  EXPECT_THAT(out.losses[0].reason, HasSubstr("BDM64"));
  EXPECT_THAT(decode(code, trace).text(), ElementsAre("begin 0>1000 resync", "lost 100c>0"));
}

// --- SKZ84

TEST(Errata, Skz84LeavesTheTimeAlone) {
  Trace trace = Trace().psb(0x1000, Trace::kExec64, 5000);
  trace.raw({0x02, 0x73, 1, 2, 3, 4, 5, 6}).tnt("T");
  EXPECT_THAT(path(kLoop, trace, {.errata = {.skz84 = true}}),
              ElementsAre("begin 0>1000 resync", "cond 1001>1000"));
  EXPECT_EQ(decode(kLoop, trace).stats.losses[static_cast<int>(LossCause::bad_packet)], 1u);
}

}  // namespace
}  // namespace hodo::flow
