// Damage: what is lost, where, why, and that the next PSB is the end of it.
#include "fixture.h"

namespace hodo::flow {
namespace {

using pt::PacketType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Code kLoop = Code().at(0x1000).nop().jz(0x1000);

// Exactly one loss, of this kind, at this offset.
void expect_loss(const Decoded& out, LossCause cause, std::uint64_t offset) {
  ASSERT_THAT(out.losses, SizeIs(1));
  EXPECT_EQ(name(out.losses[0].cause), name(cause)) << out.losses[0].reason;
  EXPECT_EQ(out.losses[0].offset, offset) << out.losses[0].reason;
  EXPECT_FALSE(out.losses[0].reason.empty());
  EXPECT_EQ(out.stats.losses[static_cast<int>(cause)], 1u);
  EXPECT_EQ(out.stats.total_losses(), 1u);
}

TEST(Loss, OverflowResolvedWhileTracingGoesOnAtItsFup) {
  const Code code = Code().at(0x1000).nop().jz(0x1000).at(0x2000).jz(0x1000);
  Trace trace = Trace().psb(0x1000).tnt("T");
  const std::size_t at = trace.size();
  trace.ovf().plain(PacketType::cyc, 3).fup(0x2000).tnt("T");
  const Decoded out = decode(code, trace);
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "cond 1001>1000", "lost 1000>2000",
                                      "cond 2000>1000"));
  expect_loss(out, LossCause::overflow, at);
  EXPECT_EQ(out.losses[0].last_ip, 0x1000u);
  EXPECT_EQ(out.losses[0].skipped, 0u);
}

TEST(Loss, OverflowResolvedWhileOffGoesOnAtPge) {
  const Decoded out = decode(
      kLoop, Trace().psb(0x1000).tnt("T").ovf().plain(PacketType::cbr, 20).pge(0x1000).tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "cond 1001>1000", "lost 1000>0",
                                      "begin 0>1000", "cond 1001>1000"));
  EXPECT_EQ(out.losses.size(), 1u);
}

TEST(Loss, OverflowBeforeAPsbGoesOnThere) {
  const Decoded out = decode(kLoop, Trace().psb(0x1000).ovf().psb(0x1001).tnt("T"));
  EXPECT_THAT(out.text(),
              ElementsAre("begin 0>1000 resync", "lost 1000>1001 resync", "cond 1001>1000"));
  EXPECT_EQ(out.losses.size(), 1u);
}

TEST(Loss, OverflowInsidePsbPlus) {
  Trace trace;
  trace.plain(PacketType::psb).plain(PacketType::tsc, 7).ovf().fup(0x1000).tnt("T");
  const Decoded out = decode(kLoop, trace);
  EXPECT_THAT(out.text(), ElementsAre("lost 0>1000", "cond 1001>1000"));
  EXPECT_EQ(out.losses.size(), 1u);
}

TEST(Loss, OverflowForgetsTheReturnStack) {
  const Code code = Code().at(0x1000).call(0x2000).at(0x2000).jz(0x1000).ret();
  const Decoded out = decode(code, Trace().psb(0x1000).tnt("N").ovf().fup(0x2000).tnt("NT"));
  ASSERT_THAT(out.losses, SizeIs(2));
  EXPECT_EQ(out.losses[1].cause, LossCause::impossible_outcome);
  EXPECT_THAT(out.losses[1].reason, HasSubstr("compressed return"));
}

TEST(Loss, OverflowStartsIpCompressionAnew) {
  const Code code = Code().at(0x7fff00001000).nop().at(0x2000).jz(0x2000);
  const Decoded out = decode(code, Trace().psb(0x7fff00001000).ovf().fup(0x2000).tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre("begin 0>7fff00001000 resync", "lost 7fff00001000>2000",
                                      "cond 2000>2000"));
}

TEST(Loss, SeveralOverflowsInARowLeaveOneGap) {
  const Decoded out = decode(kLoop, Trace().psb(0x1000).ovf().ovf().fup(0x1001).tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "lost 1000>1001", "cond 1001>1000"));
  EXPECT_EQ(out.stats.losses[static_cast<int>(LossCause::overflow)], 2u);
}

TEST(Loss, PgdTooManyBehindAnOverflowIsIgnored) {
  const Decoded out = decode(kLoop, Trace().psb(0x1000).ovf().pgd().pge(0x1000).tnt("T"));
  EXPECT_THAT(out.text(),
              ElementsAre("begin 0>1000 resync", "lost 1000>0", "begin 0>1000", "cond 1001>1000"));
  EXPECT_EQ(out.losses.size(), 1u);
}

// 02 82 once more than a PSB has it: a search finds its end to be one, who reads on its beginning.
TEST(Loss, BytesOfAPsbThatAreTooMany) {
  const Code code = Code().at(0x1000).jz(0x1000).syscall();
  Trace trace = Trace().psb(0x1000).tnt("TN").pgd();
  const std::size_t at = trace.size();
  trace.raw({0x02, 0x82}).psb().pge(0x1000).tnt("T").fup(0x1000);
  for (int i = 0; i < 6; ++i) trace.raw({0x02, 0x82});
  const Decoded out = decode(code, trace.tip(0x1000).tnt("TTTTTT"));
  expect_loss(out, LossCause::bad_packet, at + 16);
}

TEST(Loss, BadPacketCostsItsSegment) {
  Trace trace = Trace().psb(0x1000).tnt("T");
  const std::size_t bad = trace.size();
  trace.raw({0x05, 0x05}).tnt("TTT");
  const std::size_t next = trace.size();
  trace.psb(0x1001).tnt("T");
  const Decoded out = decode(kLoop, trace);
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "cond 1001>1000",
                                      "lost 1000>1001 resync", "cond 1001>1000"));
  expect_loss(out, LossCause::bad_packet, bad);
  EXPECT_EQ(out.losses[0].skipped, next - bad);
  EXPECT_EQ(out.stats.skipped_bytes, next - bad);
  EXPECT_THAT(out.losses[0].reason, HasSubstr("05 05"));
}

TEST(Loss, PacketThatSwallowsAPsbDoesNotCostTheNextSegment) {
  Trace trace = Trace().psb(0x1000);
  // A TSC's 7 bytes reach into the PSB, so that the rest of that is no packet.
  trace.raw({0x19, 0, 0, 0}).psb(0x1001).tnt("T");
  const Decoded out = decode(kLoop, trace);
  EXPECT_THAT(out.text(),
              ElementsAre("begin 0>1000 resync", "lost 1000>1001 resync", "cond 1001>1000"));
}

TEST(Loss, PsbThatACutOffPacketReachesInto) {
  Trace trace = Trace().psb(0x1000).tnt("T");
  // An MNT's payload takes half of the PSB, whose other half looks like a PSB that is cut off.
  trace.raw({0x02, 0xc3, 0x88});
  const std::size_t psb = trace.size();
  trace.plain(PacketType::psb);
  const Decoded out = decode(kLoop, trace);
  ASSERT_THAT(out.losses, SizeIs(1));
  EXPECT_EQ(out.losses[0].cause, LossCause::truncated);
  EXPECT_EQ(out.stats.packets[static_cast<int>(PacketType::psb)], 2u) << "the one at " << psb;
}

// The packets in between lack the far branch to code of another width.
TEST(Loss, ModeThatChangesInAPsbPlus) {
  const Decoded out =
      decode(kLoop, Trace().psb(0x1000).tnt("T").psb(0x1001, Trace::kExec32).tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "cond 1001>1000",
                                      "lost 1001>1001 resync", "cond 1001>1000"));
  ASSERT_THAT(out.losses, SizeIs(1));
  EXPECT_EQ(out.losses[0].cause, LossCause::impossible_outcome);
  EXPECT_THAT(out.losses[0].reason, HasSubstr("width"));
}

TEST(Loss, EveryTruncationEndsCleanly) {
  const Code code = Code().at(0x1000).nop().jz(0x1000).ijmp();
  const Trace whole = Trace().psb(0x1000).tnt("TN").tip(0x7fff00001000).plain(PacketType::tsc, 1);
  for (std::size_t cut = 1; cut <= whole.size(); ++cut) {
    const Decoded out = decode(code, Trace(whole).cut(cut));
    EXPECT_LE(out.losses.size(), 1u) << cut;
    EXPECT_EQ(out.stats.bytes, whole.size() - cut);
  }
  const Decoded out = decode(code, Trace(whole).cut(9));  // the TSC and a byte of the TIP
  expect_loss(out, LossCause::truncated, whole.size() - 8 - 7);
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "cond 1001>1000", "lost 1007>0"));
}

TEST(Loss, MissingCodeSaysWhere) {
  const Code code = Code().at(0x1000).jmp(0x5000);
  const Decoded out = decode(code, Trace().psb(0x1000).tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "jmp 1000>5000", "lost 5000>0"));
  ASSERT_THAT(out.losses, SizeIs(1));
  EXPECT_EQ(out.losses[0].cause, LossCause::no_code);
  EXPECT_EQ(out.losses[0].ip, 0x5000u);
  EXPECT_THAT(out.losses[0].reason, HasSubstr("0x5000"));
}

TEST(Loss, BytesThatAreNoInstruction) {
  const Code code = Code().at(0x1000).nop().raw({0x06, 0x06, 0x06, 0x06});
  const Decoded out = decode(code, Trace().psb(0x1000).tnt("T"));
  ASSERT_THAT(out.losses, SizeIs(1));
  EXPECT_EQ(out.losses[0].cause, LossCause::bad_code);
  EXPECT_EQ(out.losses[0].ip, 0x1001u);
}

TEST(Loss, InstructionCutOffByTheEndOfTheCode) {
  const Code code = Code().at(0x1000).nop().raw({0x0f});
  const Decoded out = decode(code, Trace().psb(0x1000).tnt("T"));
  ASSERT_THAT(out.losses, SizeIs(1));
  EXPECT_EQ(out.losses[0].cause, LossCause::bad_code);
}

TEST(Loss, PacketsThatDoNotFitTheCode) {
  const Code cond = Code().at(0x1000).nop().jz(0x1000);
  const Code ret = Code().at(0x1000).ret();
  const Code call = Code().at(0x1000).call(0x2000).at(0x2000).ret();
  const Code jump = Code().at(0x1000).ijmp();
  const Code sys = Code().at(0x1000).syscall();
  for (const auto& [code, rest] : std::initializer_list<std::pair<Code, Trace>>{
           {cond, Trace().psb(0x1000).tip(0x2000)},
           {cond, Trace().psb(0x1000).pgd()},
           {cond, Trace().psb(0x1000).pgd(0x9000)},
           {cond, Trace().psb(0x1000).fup(0x1007)},
           {cond, Trace().psb(0x1000).psb(0x1007)},
           {cond, Trace().psb(0x1000).psb()},
           {cond, Trace().psb(0x1000).tnt("T").pge(0x1000)},
           {cond, Trace().psb(0x1000).fup(0x1001).tnt("T")},
           {cond, Trace().psb(0x1000).fup(0x1001).fup(0x1001)},
           {cond, Trace().psb(0x1000).fup(0x1001).psb(0x1001)},
           {cond, Trace().psb().tnt("T")},
           {cond, Trace().psb().tip(0x1000)},
           {cond, Trace().psb().pgd()},
           {cond, Trace().psb().fup(0x1000)},
           {cond, Trace().psb().psb(0x1000)},
           {ret, Trace().psb(0x1000).tnt("T")},
           {call, Trace().psb(0x1000).tnt("N")},
           {ret, Trace().psb(0x1000).tnt("N")},
           {jump, Trace().psb(0x1000).tnt("T")},
           {jump, Trace().psb(0x1000).tnt("T").fup(0x1000)},
           {jump, Trace().psb(0x1000).plain(PacketType::tip)},
           {sys, Trace().psb().plain(PacketType::tip_pge)}}) {
    const Decoded out = decode(code, rest);
    ASSERT_THAT(out.losses, SizeIs(1)) << testing::PrintToString(rest.bytes());
    EXPECT_EQ(name(out.losses[0].cause), "impossible-outcome") << out.losses[0].reason;
  }
}

TEST(Loss, FailuresOutsideTheFilterBlameTheFilter) {
  const Code code = Code().at(0x1000).jmp(0x5000);
  const Decoded out =
      decode(code, Trace().psb(0x1000).tnt("T"), {.filter = {{0x1000, 0x1fff}, {0x3000, 0x3fff}}});
  ASSERT_THAT(out.losses, SizeIs(1));
  EXPECT_EQ(out.losses[0].cause, LossCause::filter_mismatch);
}

TEST(Loss, WhatWasTracedOutsideTheFilterContradictsIt) {
  const Code code = Code().at(0x1000).ijmp().at(0x5000).ijmp();
  for (const Trace& trace :
       {Trace().psb(0x5000).tip(0x1000), Trace().psb().pge(0x5000).tip(0x1000)}) {
    const Decoded out = decode(code, trace, {.filter = {{0x1000, 0x1fff}}});
    ASSERT_THAT(out.losses, SizeIs(1));
    EXPECT_EQ(out.losses[0].cause, LossCause::filter_mismatch);
    EXPECT_EQ(out.losses[0].ip, 0x5000u);
    const Config both{.filter = {{0x1000, 0x1fff}, {0x5000, 0x5fff}}};
    EXPECT_THAT(decode(code, trace, both).losses, testing::IsEmpty());
  }
}

TEST(Loss, EndlessLoopsAreNoPath) {
  const Code self = Code().at(0x1000).jmp(0x1000);
  const Code ring =
      Code().at(0x1000).nop().jmp(0x2000).at(0x2000).call(0x3000).at(0x3000).jmp(0x2000);
  for (const Code& code : {self, ring}) {
    for (const Trace& trace : {Trace().psb(0x1000).tnt("T"), Trace().psb(0x1000).tip(0x9000),
                               Trace().psb(0x1000).fup(0x9000), Trace().psb(0x1000).pgd(),
                               Trace().psb(0x1000).psb(0x9000)}) {
      const Decoded out = decode(code, trace);
      ASSERT_GE(out.losses.size(), 1u);
      EXPECT_EQ(out.losses[0].cause, LossCause::endless_loop);
      EXPECT_EQ(out.text()[0], "begin 0>1000 resync");
      EXPECT_THAT(out.text()[1], HasSubstr("lost")) << "branches of the loop were kept";
      EXPECT_EQ(out.stats.instructions, 0u);
      EXPECT_EQ(out.losses[0].last_ip, 0x1000u);
    }
  }
}

TEST(Loss, EndlessLoopKeepsWhatRanBeforeIt) {
  const Code code = Code().at(0x1000).jz(0x1000).nop().jmp(0x1006);
  const Decoded out = decode(code, Trace().psb(0x1000).tnt("N").tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "lost 1006>0"));
  EXPECT_EQ(out.branches[1].insns, 1u);
  EXPECT_EQ(out.stats.instructions, 1u);
}

TEST(Loss, LoopThatAPacketInterruptsIsAPath) {
  const Code code = Code().at(0x1000).nop().jmp(0x1000).at(0x2000).iret();
  EXPECT_THAT(
      path(code, Trace().psb(0x1001).fup(0x1001).tip(0x2000).tip(0x1001).fup(0x1000).tip(0x2000)),
      ElementsAre("begin 0>1001 resync", "irq 1001>2000 async", "iret 2000>1001", "jmp 1001>1000",
                  "irq 1000>2000 async"));
}

TEST(Loss, HeadCutOffIsLocated) {
  Trace trace = Trace().tnt("TTT").tip(0x1234);
  const std::size_t head = trace.size();
  const Decoded out = decode(kLoop, trace.psb(0x1000).tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "cond 1001>1000"));
  expect_loss(out, LossCause::head_cut, 0);
  EXPECT_EQ(out.losses[0].skipped, head);
}

// The trace of a thread that was killed before it had handed anything over.
TEST(Loss, OverflowAndNothingElse) {
  const Decoded out = decode(kLoop, Trace().ovf());
  EXPECT_THAT(out.text(), IsEmpty());
  expect_loss(out, LossCause::overflow, 0);
  EXPECT_EQ(out.losses[0].skipped, 2u);
  expect_loss(decode(kLoop, Trace().ovf().tnt("T")), LossCause::head_cut, 0);
  expect_loss(decode(kLoop, Trace().raw({2})), LossCause::head_cut, 0);
}

TEST(Loss, NoPsbAtAll) {
  expect_loss(decode(kLoop, Trace().tnt("TTT")), LossCause::head_cut, 0);
  EXPECT_THAT(decode(kLoop, Trace()).losses, IsEmpty());
  EXPECT_THAT(decode(kLoop, Trace().raw({0, 0})).losses, IsEmpty());
}

TEST(Loss, ForeignPacketInPsbPlus) {
  Trace trace = Trace().plain(PacketType::psb);
  const std::size_t bad = trace.size();
  expect_loss(decode(kLoop, trace.tnt("T")), LossCause::bad_packet, bad);
}

// Decoders that get their bytes a few at a time have to go on behind them, too.
TEST(Loss, BrokenPsbPlusInARow) {
  constexpr int kBroken = 40;
  Trace trace = Trace().psb(0x1000).tnt("T");
  for (int i = 0; i < kBroken; ++i) trace.plain(PacketType::psb).tnt("T");
  trace.psb(0x1001).tnt("T");
  const Decoded out = decode(kLoop, trace);
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "cond 1001>1000", "lost 0>1001 resync",
                                      "cond 1001>1000"));
  EXPECT_EQ(out.losses.size(), std::size_t{kBroken} + 1);
}

// The same of rows of bytes that may be a PSB at several places.
TEST(Loss, RowsOfAPsbsBytes) {
  Trace trace = Trace().psb(0x1000).tnt("T");
  for (int row = 0; row < 40; ++row) {
    trace.plain(PacketType::psb).raw({0x02, 0x82, 0x02, 0x82});
    for (int more = 0; more < row; ++more) trace.raw({0x02, 0x82});
  }
  trace.psb(0x1001).tnt("T");
  EXPECT_EQ(decode(kLoop, trace).text().back(), "cond 1001>1000");
}

TEST(Loss, FupBehindABrokenPsbPlusIsNotItsIp) {
  Trace trace = Trace().psb(0x1000).tnt("T").plain(PacketType::psb).tnt("T").fup(0x1001);
  const Decoded out = decode(kLoop, trace);
  ASSERT_THAT(out.losses, SizeIs(2));
  EXPECT_EQ(out.losses[0].cause, LossCause::impossible_outcome);  // no FUP: tracing would be off
  EXPECT_EQ(out.losses[1].cause, LossCause::bad_packet);
}

TEST(Loss, PiecesHaveAGapBetweenThem) {
  const Trace first = Trace().psb(0x1000).tnt("T");
  const Trace second = Trace().raw({0, 0}).psb(0x1001).tnt("T");
  const Piece pieces[] = {{.bytes = first.bytes(), .offset = 100},
                          {.bytes = second.bytes(), .offset = 500, .lost_before = 42}};
  Decoded out;
  out.stats = decode(pieces, kLoop, {}, out);
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "cond 1001>1000",
                                      "lost 1000>1001 resync", "cond 1001>1000"));
  expect_loss(out, LossCause::recorder_lost, 500);
  EXPECT_THAT(out.losses[0].reason, HasSubstr("42 bytes"));
  EXPECT_EQ(out.losses[0].last_ip, 0x1000u);
  EXPECT_EQ(out.stats.bytes, first.size() + second.size());
}

TEST(Loss, ComesBetweenTheBranchesThatItSeparates) {
  const Decoded out = decode(kLoop, Trace().psb(0x1000).tnt("T").ovf().fup(0x1000).tnt("T"));
  EXPECT_THAT(out.order, ElementsAre("event", "branches", "loss", "branches"));
}

TEST(Loss, ASinkThatHasEnoughEndsItAtAPsb) {
  struct Impatient : Decoded {
    std::vector<std::uint64_t> offsets;
    bool on_progress(std::uint64_t offset) override {
      offsets.push_back(offset);
      return offsets.size() < 3;
    }
  } sink;
  Trace trace;
  for (int i = 0; i < 5; ++i) trace.psb(0x1001).tnt("T").tnt("N");
  const Code code = Code().at(0x1000).nop().jz(0x1001).jmp(0x1001);
  (void)decode(trace.bytes(), code, {}, sink);
  EXPECT_THAT(sink.text(), SizeIs(5));  // the way to the third PSB included
  const std::size_t segment = trace.size() / 5;
  EXPECT_THAT(sink.offsets, ElementsAre(0, segment, 2 * segment));
}

TEST(Loss, MemoryAndTimeStayBoundedOnLongHostileTraces) {
  // A million bytes of which every one begins a walk that leads nowhere.
  Code code = Code().at(0x1000);
  for (std::uint64_t i = 0; i < 3000; ++i) code.jmp(0x1000 + 5 * (i + 1));
  code.jmp(0x1000);
  Trace trace;
  constexpr int kSegments = 80;
  for (int i = 0; i < kSegments; ++i) trace.psb(0x1000).tnt("TTTTTT");
  const Decoded out = decode(code, trace);
  EXPECT_EQ(out.stats.losses[static_cast<int>(LossCause::endless_loop)], std::uint64_t{kSegments});
  EXPECT_EQ(out.stats.branches[static_cast<int>(BranchKind::jmp)], 0u);
}

}  // namespace
}  // namespace hodo::flow
