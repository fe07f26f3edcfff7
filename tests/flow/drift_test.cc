// Behind code that is not known: where the path is found again, and where it must not be.
#include "fixture.h"

namespace hodo::flow {
namespace {

using pt::PacketType;
using testing::ElementsAre;
using testing::SizeIs;

//   1000: jz 5000       5000 and on are not known
//   1006: jmp rax
//   2000: nop; jz 2000; jmp rax
//   3000: call 4000; jz 3000; ret
//   4000: nop; ret
Code known() {
  return Code()
      .at(0x1000)
      .jz(0x5000)
      .ijmp()
      .at(0x2000)
      .nop()
      .jz(0x2000)
      .ijmp()
      .at(0x3000)
      .call(0x4000)
      .jz(0x3000)
      .ret()
      .at(0x4000)
      .nop()
      .ret();
}

// Into the missing code, with `outcomes` of its branches in the same TNT.
Trace lost(const std::string& outcomes = "") { return Trace().psb(0x1000).tnt("T" + outcomes); }

// The branches behind the first loss, which begins at 5000.
std::vector<std::string> behind(const Trace& trace, const Config& config = {}) {
  const Decoded out = decode(known(), trace, config);
  std::vector<std::string> text = out.text();
  EXPECT_EQ(name(out.losses.at(0).cause), "no-code");
  EXPECT_EQ(text.at(0), "begin 0>1000 resync");
  EXPECT_EQ(text.at(1), "cond 1000>5000");
  text.erase(text.begin(), text.begin() + 2);
  return text;
}

TEST(Drift, ATipWhoseOutcomesBeforeAreAllTakenSaysWhereThePathIs) {
  EXPECT_THAT(behind(lost().tip(0x2000).tnt("TN").tip(0x1000)),
              ElementsAre("lost 5000>2000", "cond 2001>2000", "ijmp 2007>1000"));
}

TEST(Drift, TheLossIsLocatedAndSoIsItsEnd) {
  Trace trace = lost("TTTTT");
  const std::size_t at = trace.size() - 1;
  trace.tip(0x2000).tnt("T").tip(0x2000);
  const Decoded out = decode(known(), trace.tnt("T"));
  ASSERT_THAT(out.losses, SizeIs(1));
  EXPECT_EQ(out.losses[0].offset, at);
  EXPECT_EQ(out.losses[0].last_ip, 0x5000u);
  EXPECT_EQ(out.losses[0].ip, 0x5000u);
  EXPECT_EQ(out.losses[0].skipped, 1u + 3 + 1);
  EXPECT_EQ(out.stats.skipped_bytes, out.losses[0].skipped);
  EXPECT_THAT(out.order, ElementsAre("event", "branches", "loss", "branches"));
}

// A full TNT may have been written long before the branch of its TIP: its last outcomes may be
// those of branches behind.
TEST(Drift, ATipBehindAFullTntMayBeDeferred) {
  EXPECT_THAT(behind(lost("TTTTT").tip(0x2000).tnt("T").tip(0x2000).tnt("T")),
              ElementsAre("lost 5000>2000", "cond 2001>2000"));
  EXPECT_THAT(behind(lost("TTTTT").tip(0x2000).tnt("T")), ElementsAre("lost 5000>0"));
  const std::string full(46, 'T');
  EXPECT_THAT(behind(lost(full).tip(0x2000).tnt("T")), ElementsAre("lost 5000>0"));
}

TEST(Drift, ATipThatForcedItsTntOutIsNotDeferred) {
  EXPECT_THAT(behind(lost("TTTT").tip(0x2000).tnt("T")),
              ElementsAre("lost 5000>2000", "cond 2001>2000"));
  // The last one did.
  EXPECT_THAT(behind(lost("TTTT").tip(0x2000).tip(0x3000).tnt("TT")),
              ElementsAre("lost 5000>3000", "call 3000>4000", "ret 4001>3005", "cond 3005>3000"));
  const std::string not_full(45, 'T');
  EXPECT_THAT(behind(lost(not_full).tip(0x2000).plain(PacketType::cyc, 1).tnt("T")),
              ElementsAre("lost 5000>2000", "cond 2001>2000"));
}

TEST(Drift, WhatElseForcedTheTntOutLeavesTheTipUncertain) {
  for (const PacketType type : {PacketType::mtc, PacketType::pip, PacketType::pwrx}) {
    EXPECT_THAT(behind(lost("TT").tip(0x2000).plain(type).tnt("T")), ElementsAre("lost 5000>0"))
        << pt::name(type);
  }
  EXPECT_THAT(behind(lost("TT").tip(0x2000)), ElementsAre("lost 5000>0")) << "unknown what did";
}

// TNT "TT", deferred TIP of the branch at 1006, and then code that is missing: the bit that is left
// was not taken yet, so that the next TIP may be deferred, too.
TEST(Drift, AFailureBehindADeferredTip) {
  const Code code = Code().at(0x1000).jz(0x5000).ijmp().at(0x2000).nop().jz(0x2000);
  const auto text = [&](const std::string& outcomes) {
    return decode(code, Trace().psb(0x1000).tnt(outcomes).tip(0x6000).tip(0x2000).tnt("T")).text();
  };
  EXPECT_THAT(text("NTTTTT"), ElementsAre("begin 0>1000 resync", "ijmp 1006>6000", "lost 6000>0"));
  EXPECT_THAT(text("NTTT"), ElementsAre("begin 0>1000 resync", "ijmp 1006>6000", "lost 6000>2000",
                                        "cond 2001>2000"));
}

TEST(Drift, AFupIsAlwaysCertain) {
  EXPECT_THAT(behind(lost("TTTTT").tip(0x3000).fup(0x2000).tip(0x1000).tnt("T")),
              ElementsAre("lost 5000>2000", "irq 2000>1000 async", "cond 1000>5000"));
  EXPECT_THAT(behind(lost().fup(0x2001).pgd()),
              ElementsAre("lost 5000>2001", "end 2001>0 end async"));
}

TEST(Drift, AnEventsFupIsNoBranch) {
  const Decoded out =
      decode(known(), lost("TTTTT").plain(PacketType::ptw, 7, 1, 8).fup(0x2001).tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "cond 1000>5000", "lost 5000>2001",
                                      "cond 2001>2000"));
  EXPECT_EQ(out.events.back().kind, EventKind::ptwrite);
  EXPECT_EQ(out.events.back().ip, 0x2001u);
}

// The event in the missing code takes its FUP along; its TIP leads out.
TEST(Drift, AFupInTheMissingCode) {
  EXPECT_THAT(behind(lost("TTTTT").fup(0x5010).tip(0x2000).tnt("T")),
              ElementsAre("lost 5000>2000", "cond 2001>2000"));
  const Decoded out =
      decode(known(), lost().plain(PacketType::ptw, 7, 1, 8).fup(0x5010).tip(0x2000).tnt("T"));
  EXPECT_EQ(out.events.back().kind, EventKind::ptwrite);
  EXPECT_EQ(out.events.back().ip, 0x5010u);
}

TEST(Drift, WhereTracingEndsTheLossEnds) {
  EXPECT_THAT(behind(lost("TTTTT").pgd().pge(0x2000).tnt("T")),
              ElementsAre("lost 5000>0", "begin 0>2000", "cond 2001>2000"));
  EXPECT_THAT(behind(lost("TTTTT").fup(0x5008).pgd().pge(0x2000).tnt("T")),
              ElementsAre("lost 5000>0", "begin 0>2000", "cond 2001>2000"));
  EXPECT_THAT(behind(lost("TTTTT").pge(0x2000).tnt("T")),
              ElementsAre("lost 5000>0", "begin 0>2000", "cond 2001>2000"));
  EXPECT_THAT(behind(lost("T").plain(PacketType::trace_stop)), ElementsAre("lost 5000>0"));
}

TEST(Drift, PsbAndOverflowEndItAsEver) {
  EXPECT_THAT(behind(lost("TTTTT").psb(0x2000).tnt("T")),
              ElementsAre("lost 5000>2000 resync", "cond 2001>2000"));
  EXPECT_THAT(behind(lost("TTTTT").ovf().fup(0x2000).tnt("T")),
              ElementsAre("lost 5000>2000", "cond 2001>2000"));
  EXPECT_THAT(behind(lost("TTTTT").psb().pge(0x2000).tnt("T")),
              ElementsAre("lost 5000>0", "begin 0>2000", "cond 2001>2000"));
}

TEST(Drift, OneLossForAsLongAsNoCodeIsKnown) {
  const Decoded out =
      decode(known(), lost().tip(0x6000).tnt("T").tip(0x7000).tip(0x2000).tnt("N").tip(0x1000));
  EXPECT_THAT(out.losses, SizeIs(1));
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "cond 1000>5000", "lost 5000>2000",
                                      "ijmp 2007>1000"));
}

TEST(Drift, CallsSeenAfterItReturn) {
  EXPECT_THAT(behind(lost().tip(0x3000).tnt("TN").tip(0x2000).tnt("T")),
              ElementsAre("lost 5000>3000", "call 3000>4000", "ret 4001>3005", "ret 300b>2000",
                          "cond 2001>2000"));
}

// Which calls are open nobody knows: a compressed return that is not on the stack is a loss of its
// own, not a contradiction.
TEST(Drift, ACompressedReturnToACallThatWasNotSeen) {
  const Decoded out =
      decode(known(), lost().tip(0x3000).tnt("TNTT").tip(0x2000).tnt("TN").tip(0x4000).tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "cond 1000>5000", "lost 5000>3000",
                                      "call 3000>4000", "ret 4001>3005", "lost 300b>2000",
                                      "cond 2001>2000", "ijmp 2007>4000", "lost 4000>0"));
  ASSERT_THAT(out.losses, SizeIs(3));
  EXPECT_EQ(name(out.losses[1].cause), "lost-call");
  EXPECT_EQ(out.losses[1].ip, 0x300bu);
}

TEST(Drift, APsbMakesTheReturnStackKnownAgain) {
  const Decoded out = decode(known(), lost().tip(0x2000).psb(0x2000).tnt("N").tip(0x4000).tnt("T"));
  ASSERT_THAT(out.losses, SizeIs(2));
  EXPECT_EQ(name(out.losses[1].cause), "impossible-outcome");
}

TEST(Drift, TimeAndModeGoOn) {
  const Code code =
      Code().at(0x1000).jmp(0x5000).at(0x2000).raw({0x48}).jz(0x2000);  // 32-bit: dec eax
  const Decoded out = decode(code, Trace()
                                       .psb(0x1000, Trace::kExec64, 1000)
                                       .tnt("TTTTTT")
                                       .plain(PacketType::tsc, 2000)
                                       .fup(0x5000)
                                       .plain(PacketType::mode_exec, pt::kExecCsD)
                                       .tip(0x2000)
                                       .tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "jmp 1000>5000", "lost 5000>2000",
                                      "cond 2001>2000"));
  EXPECT_EQ(out.branches.back().time, 2000u);
  EXPECT_EQ(out.branches.back().insns, 2u);
}

// Whether the path goes on at a TIP may be in bytes that come later: what is told of it before must
// be what is told then.
TEST(Drift, AModeThatChangesWithTheTip) {
  EXPECT_THAT(
      behind(
          lost("TT").plain(PacketType::mode_exec, pt::kExecCsL | pt::kExecIf).tip(0x2000).tnt("T")),
      ElementsAre("lost 5000>2000", "cond 2001>2000"));
}

TEST(Drift, ATransactionThatEndsMeanwhile) {
  const Decoded out = decode(known(), Trace()
                                          .psb(0x1000)
                                          .plain(PacketType::mode_tsx, 1)
                                          .fup(0x1000)
                                          .tnt("T")
                                          .plain(PacketType::mode_tsx, 0)
                                          .fup(0x5004)
                                          .tip(0x2000)
                                          .tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "cond 1000>5000 tx", "lost 5000>2000",
                                      "cond 2001>2000"));
}

TEST(Drift, NotOutsideTheFilter) {
  EXPECT_THAT(behind(lost().tip(0x2000).tip(0x3000).tnt("T"),
                     {.filter = {{0x1000, 0x1fff}, {0x3000, 0x5fff}}}),
              ElementsAre("lost 5000>3000", "call 3000>4000", "ret 4001>3005"));
}

TEST(Drift, DamageEndsItAtTheNextPsb) {
  const Decoded out =
      decode(known(), lost("TTTTT").raw({0x05, 0x05}).tip(0x2000).psb(0x2001).tnt("T"));
  ASSERT_THAT(out.losses, SizeIs(2));
  EXPECT_EQ(name(out.losses[1].cause), "bad-packet");
  EXPECT_EQ(out.losses[0].offset + out.losses[0].skipped, out.losses[1].offset);
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "cond 1000>5000",
                                      "lost 5000>2001 resync", "cond 2001>2000"));
}

TEST(Drift, NotBehindAContradiction) {
  const Decoded out = decode(known(), Trace().psb(0x1000).tip(0x2000).tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "lost 1000>0"));
}

TEST(Drift, BytesThatAreNoInstruction) {
  const Code code = Code().at(0x1000).nop().raw({0x06, 0x06}).at(0x2000).jz(0x2000);
  EXPECT_THAT(decode(code, Trace().psb(0x1000).tip(0x2000).tnt("T")).text(),
              ElementsAre("begin 0>1000 resync", "lost 1001>2000", "cond 2000>2000"));
}

// Every packet of a hostile trace may begin a search of its own: none looks at more than what is
// lost and the next branch.
TEST(Drift, TakesTimeByTheBytes) {
  Trace trace = Trace().psb(0x1000);
  for (int i = 0; i < 100'000; ++i) trace.tnt("T").tip(0x1000).tnt("TTTTTT").tip(0x1000);
  Decoded out;
  (void)decode(trace.bytes(), known(), {}, out);
  EXPECT_GT(out.losses.size(), 99'000u);
}

}  // namespace
}  // namespace hodo::flow
