// What the path looks like for every way that packets steer it. Code at 0x1000 unless it matters.
#include "fixture.h"

namespace hodo::flow {
namespace {

using pt::PacketType;
using testing::ElementsAre;

constexpr const char* kStart = "begin 0>1000 resync";

TEST(Path, ConditionalBranchesTakeTheOutcomesInOrder) {
  const Code code = Code().at(0x1000).nop().jz(0x1000).jz(0x1100);
  EXPECT_THAT(path(code, Trace().psb(0x1000).tnt("TTNT")),
              ElementsAre(kStart, "cond 1001>1000", "cond 1001>1000", "cond 1007>1100"));
}

TEST(Path, NotTakenBranchesAreShownOnRequest) {
  const Code code = Code().at(0x1000).jz(0x1000).jz(0x1000);
  EXPECT_THAT(path(code, Trace().psb(0x1000).tnt("NT"), {.want_not_taken = true}),
              ElementsAre(kStart, "cond 1000>1006 not-taken", "cond 1006>1000"));
}

TEST(Path, LongTntHoldsFortySevenOutcomes) {
  const Code code = Code().at(0x1000).jz(0x1000);
  const std::string outcomes(47, 'T');
  EXPECT_EQ(path(code, Trace().psb(0x1000).tnt(outcomes)).size(), 48u);
}

TEST(Path, DirectBranchesNeedNoPacket) {
  const Code code = Code().at(0x1000).jmp(0x2000).at(0x2000).call(0x3000).at(0x3000).jz(0x1000);
  EXPECT_THAT(path(code, Trace().psb(0x1000).tnt("T")),
              ElementsAre(kStart, "jmp 1000>2000", "call 2000>3000", "cond 3000>1000"));
}

TEST(Path, StopsWhereThePacketsStop) {
  const Code code = Code().at(0x1000).jz(0x1010).at(0x1010).jmp(0x2000).at(0x2000).ret();
  const Decoded out = decode(code, Trace().psb(0x1000).tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre(kStart, "cond 1000>1010"));
  EXPECT_EQ(out.stats.instructions, 1u);
}

TEST(Path, IndirectBranchesGoWhereTheirTipSays) {
  const Code code = Code().at(0x1000).ijmp().at(0x2000).icall().at(0x7fff00003000).ret();
  EXPECT_THAT(
      path(code, Trace().psb(0x1000).tip(0x2000).tip(0x7fff00003000).tip(0x1000)),
      ElementsAre(kStart, "ijmp 1000>2000", "icall 2000>7fff00003000", "ret 7fff00003000>1000"));
}

TEST(Path, KernelAddressesAreSignExtended) {
  const Code code = Code().at(0x1000).syscall().at(0xffffffff81000000).sysret();
  EXPECT_THAT(path(code, Trace().psb(0x1000).tip(0xffffffff81000000).tip(0x1002)),
              ElementsAre(kStart, "syscall 1000>ffffffff81000000", "sysret ffffffff81000000>1002"));
}

TEST(Path, TipBindsBehindDirectBranches) {
  const Code code = Code().at(0x1000).jmp(0x1100).at(0x1100).nop().ijmp();
  EXPECT_THAT(path(code, Trace().psb(0x1000).tip(0x1000)),
              ElementsAre(kStart, "jmp 1000>1100", "ijmp 1101>1000"));
}

TEST(Path, CompressedReturnGoesBehindItsCall) {
  const Code code = Code().at(0x1000).call(0x2000).jz(0x1000).at(0x2000).icall().at(0x3000).ret();
  EXPECT_THAT(path(Code(code).at(0x2002).ret(), Trace().psb(0x1000).tip(0x3000).tnt("TTT")),
              ElementsAre(kStart, "call 1000>2000", "icall 2000>3000", "ret 3000>2002",
                          "ret 2002>1005", "cond 1005>1000"));
}

TEST(Path, CallToTheNextInstructionIsNotPushed) {
  const Code code = Code().at(0x1000).call(0x2000).jz(0x1000).at(0x2000).call(0x2005).ret();
  EXPECT_THAT(path(code, Trace().psb(0x1000).tnt("T")),
              ElementsAre(kStart, "call 1000>2000", "call 2000>2005", "ret 2005>1005"));
}

TEST(Path, UncompressedReturnPopsItsCallToo) {
  const Code code = Code()
                        .at(0x1000)
                        .call(0x2000)
                        .jz(0x1000)
                        .at(0x2000)
                        .call(0x3000)
                        .nop()
                        .ret()
                        .at(0x3000)
                        .ret();
  // The inner return goes one byte further than its call would have it.
  EXPECT_THAT(
      path(code, Trace().psb(0x1000).tip(0x2006).tnt("T")),
      ElementsAre(kStart, "call 1000>2000", "call 2000>3000", "ret 3000>2006", "ret 2006>1005"));
}

TEST(Path, ReturnStackKeepsTheYoungestSixtyFour) {
  // 65 nested calls: the oldest return address falls off.
  Code code;
  for (std::uint64_t i = 0; i < 65; ++i) code.at(0x1000 + 16 * i).call(0x1000 + 16 * (i + 1)).ret();
  code.at(0x1000 + 16 * 65).ret();
  Trace trace;
  trace.psb(0x1000).tnt(std::string(47, 'T')).tnt(std::string(17, 'T'));
  EXPECT_EQ(path(code, trace).size(), 1u + 65 + 64);
  const Decoded out = decode(code, trace.tnt("T"));
  ASSERT_EQ(out.losses.size(), 1u);
  EXPECT_EQ(out.losses[0].cause, LossCause::impossible_outcome);
}

TEST(Path, PsbEmptiesTheReturnStack) {
  const Code code = Code().at(0x1000).call(0x2000).at(0x2000).nop().ret();
  const Decoded out = decode(code, Trace().psb(0x1000).psb(0x2000).tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre(kStart, "call 1000>2000", "lost 2000>0"));
}

TEST(Path, DeferredTipComesBehindTheTntItLiesIn) {
  const Code code =
      Code().at(0x1000).jz(0x1100).at(0x1100).ijmp().at(0x2000).icall().at(0x3000).jz(0x1000);
  EXPECT_THAT(
      path(code, Trace().psb(0x1000).tnt("TT").tip(0x2000).plain(PacketType::cyc, 3).tip(0x3000)),
      ElementsAre(kStart, "cond 1000>1100", "ijmp 1100>2000", "icall 2000>3000", "cond 3000>1000"));
}

TEST(Path, SystemCallWithUserOnlyTracingEndsAndBegins) {
  const Code code = Code().at(0x1000).nop().syscall().jz(0x1000);
  EXPECT_THAT(path(code, Trace().psb().pge(0x1000).pgd().pge(0x1003).tnt("T")),
              ElementsAre("begin 0>1000", "syscall 1001>0 end", "begin 0>1003", "cond 1003>1000"));
}

TEST(Path, EveryFarBranchCanEndTheTrace) {
  for (const auto& [code, line] : std::initializer_list<std::pair<Code, const char*>>{
           {Code().at(0x1000).int3(), "int 1000>0 end"},
           {Code().at(0x1000).iret(), "iret 1000>0 end"},
           {Code().at(0x1000).sysret(), "sysret 1000>0 end"},
           {Code().at(0x1000).far_ret(), "ret 1000>0 end far"},
           {Code().at(0x1000).vmlaunch(), "vmentry 1000>0 end"},
           {Code().at(0x1000).vmcall(), "vmexit 1000>0 end"},
           {Code().at(0x1000).mov_cr3(), "end 1000>0 end"}}) {
    EXPECT_THAT(path(code, Trace().psb(0x1000).pgd()), ElementsAre(kStart, line));
  }
}

TEST(Path, FarBranchesTakeATip) {
  const Code code = Code().at(0x1000).far_ret().at(0x2000).int3().at(0x3000).iret();
  EXPECT_THAT(path(code, Trace().psb(0x1000).tip(0x2000).tip(0x3000).tip(0x1000)),
              ElementsAre(kStart, "ret 1000>2000 far", "int 2000>3000", "iret 3000>1000"));
}

TEST(Path, SwitchesBetweenGuestAndHostTakeATip) {
  const Code code = Code().at(0x1000).vmlaunch().at(0x2000).vmcall();
  EXPECT_THAT(path(code, Trace().psb(0x1000).tip(0x2000).tip(0x1003)),
              ElementsAre(kStart, "vmentry 1000>2000", "vmexit 2000>1003"));
}

TEST(Path, InterruptIsWhereTheFupSays) {
  const Code code =
      Code().at(0x1000).jmp(0x1100).at(0x1100).nop().nop().jz(0x1000).at(0x2000).nop().iret();
  const Decoded out =
      decode(code, Trace().psb(0x1000).fup(0x1102).tip(0x2000).tip(0x1102).tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre(kStart, "jmp 1000>1100", "irq 1102>2000 async",
                                      "iret 2001>1102", "cond 1102>1000"));
  EXPECT_EQ(out.branches[2].insns, 2u);  // the two that completed
  EXPECT_EQ(out.branches[3].insns, 2u);
}

TEST(Path, InterruptMayComeAtOnceAndAtABranch) {
  const Code code = Code().at(0x1000).jz(0x1000).at(0x2000).iret();
  EXPECT_THAT(path(code, Trace().psb(0x1000).fup(0x1000).tip(0x2000).tip(0x1000).tnt("T")),
              ElementsAre(kStart, "irq 1000>2000 async", "iret 2000>1000", "cond 1000>1000"));
}

TEST(Path, SignalEndsTheTraceAsynchronously) {
  const Code code = Code().at(0x1000).nop().nop().jz(0x1000);
  EXPECT_THAT(path(code, Trace().psb(0x1000).fup(0x1001).pgd().pge(0x1002).tnt("T")),
              ElementsAre(kStart, "end 1001>0 end async", "begin 0>1002", "cond 1002>1000"));
}

TEST(Path, AsynchronousEndOutOfTheFilterHasATarget) {
  const Code code = Code().at(0x1000).nop();
  EXPECT_THAT(path(code, Trace().psb(0x1000).fup(0x1000).pgd(0x9000)),
              ElementsAre(kStart, "end 1000>9000 end async"));
}

TEST(Path, IndirectBranchOutOfTheFilter) {
  const Code code = Code().at(0x1000).nop().ret();
  EXPECT_THAT(path(code, Trace().psb(0x1000).pgd(0x9000)),
              ElementsAre(kStart, "ret 1001>9000 end"));
}

TEST(Path, DirectBranchOutOfTheFilterIsKnownByItsTarget) {
  const Code code = Code().at(0x1000).jmp(0x1100).at(0x1100).call(0x9000);
  EXPECT_THAT(path(code, Trace().psb(0x1000).pgd(0x9000)),
              ElementsAre(kStart, "jmp 1000>1100", "call 1100>9000 end"));
}

TEST(Path, DirectBranchOutOfTheFilterWithoutIpIsKnownByTheFilter) {
  const Code code = Code().at(0x1000).jmp(0x1100).at(0x1100).jmp(0x9000);
  EXPECT_THAT(path(code, Trace().psb(0x1000).pgd(), {.filter = {{0x1000, 0x1fff}}}),
              ElementsAre(kStart, "jmp 1000>1100", "jmp 1100>9000 end"));
}

TEST(Path, CallOutOfTheFilterIsNotPushed) {
  const Code code = Code().at(0x1000).call(0x1100).jz(0x1000).at(0x1100).call(0x9000).ret();
  EXPECT_THAT(path(code, Trace().psb(0x1000).pgd(0x9000).pge(0x1105).tnt("TT")),
              ElementsAre(kStart, "call 1000>1100", "call 1100>9000 end", "begin 0>1105",
                          "ret 1105>1005", "cond 1005>1000"));
}

TEST(Path, ConditionalBranchOutOfTheFilterTakesThePgdForItsTnt) {
  const Code code = Code().at(0x1000).jz(0x1000).jz(0x9000);
  EXPECT_THAT(path(code, Trace().psb(0x1000).tnt("N").pgd(0x9000)),
              ElementsAre(kStart, "cond 1006>9000 end"));
  EXPECT_THAT(path(code, Trace().psb(0x1000).tnt("N").pgd(), {.filter = {{0x1000, 0x100f}}}),
              ElementsAre(kStart, "cond 1006>9000 end"));
  EXPECT_THAT(path(code, Trace().psb(0x1000).tnt("N").pgd(0x100c)),
              ElementsAre(kStart, "cond 1006>100c end not-taken"));
}

TEST(Path, TraceStopWithoutPgdEndsThePath) {
  const Code code = Code().at(0x1000).nop();
  EXPECT_THAT(path(code, Trace().psb(0x1000).plain(PacketType::trace_stop).pge(0x1000)),
              ElementsAre(kStart, "end 1000>0 end", "begin 0>1000"));
}

TEST(Path, ModeExecTakesEffectAtTheNextTip) {
  // 48 is a REX prefix in 64-bit code, DEC EAX in 32-bit code: FF E0 lies one byte further on.
  const Code code = Code().at(0x1000).raw({0x48}).ijmp().at(0x2000).raw({0x48}).ijmp();
  EXPECT_THAT(
      path(
          code,
          Trace().psb(0x1000).plain(PacketType::mode_exec, Trace::kExec32).tip(0x2000).tip(0x1000)),
      ElementsAre(kStart, "ijmp 1000>2000", "ijmp 2001>1000"));
}

TEST(Path, ModeExecInPsbPlusCountsAtOnce) {
  const Code code = Code().at(0x1000).raw({0x48}).ijmp();
  EXPECT_THAT(path(code, Trace().psb(0x1000, Trace::kExec32).tip(0x1000)),
              ElementsAre(kStart, "ijmp 1001>1000"));
  // B8 is MOV AX, imm16 in 16-bit code.
  const Code code16 = Code().at(0x1000).raw({0xb8, 0, 0}).ijmp();
  EXPECT_THAT(path(code16, Trace().psb(0x1000, 0).tip(0x1000)),
              ElementsAre(kStart, "ijmp 1003>1000"));
}

TEST(Path, ModeExecBehindAFupWaitsForItsTip) {
  const Code code = Code().at(0x1000).nop().nop().at(0x2000).raw({0x48}).ijmp();
  EXPECT_THAT(path(code, Trace()
                             .psb(0x1000)
                             .fup(0x1001)
                             .plain(PacketType::mode_exec, Trace::kExec32)
                             .tip(0x2000)
                             .tip(0x1000)),
              ElementsAre(kStart, "irq 1001>2000 async", "ijmp 2001>1000"));
}

TEST(Path, BranchesOf32BitCodeWrapAtFourGigabytes) {
  const Code code = Code().at(0xfffffff0).jmp(0x100001000).at(0x1000).jz(0x1000);
  EXPECT_THAT(path(code, Trace().psb(0xfffffff0, Trace::kExec32).tnt("T")),
              ElementsAre("begin 0>fffffff0 resync", "jmp fffffff0>1000", "cond 1000>1000"));
}

TEST(Path, TransactionMarksItsBranches) {
  const Code code =
      Code().at(0x1000).xbegin(0x1200).jz(0x1100).at(0x1100).raw({0x0f, 0x01, 0xd5}).jz(0x1000);
  EXPECT_THAT(path(code, Trace()
                             .psb(0x1000)
                             .plain(PacketType::mode_tsx, 1)
                             .fup(0x1006)
                             .tnt("T")
                             .plain(PacketType::mode_tsx, 0)
                             .fup(0x1103)
                             .tnt("T")),
              ElementsAre(kStart, "cond 1006>1100 tx", "cond 1103>1000"));
}

TEST(Path, AbortBranchesToTheHandler) {
  const Code code = Code().at(0x1000).xbegin(0x1200).nop().nop().at(0x1200).jz(0x1000);
  EXPECT_THAT(path(code, Trace()
                             .psb(0x1000)
                             .plain(PacketType::mode_tsx, 1)
                             .fup(0x1006)
                             .plain(PacketType::mode_tsx, 2)
                             .fup(0x1007)
                             .tip(0x1200)
                             .tnt("T")),
              ElementsAre(kStart, "abort 1007>1200", "cond 1200>1000"));
}

TEST(Path, PsbInTheMiddleProvesTheWayToItsFup) {
  const Code code = Code().at(0x1000).jmp(0x2000).at(0x2000).nop().jz(0x1000);
  EXPECT_THAT(path(code, Trace().psb(0x1000).psb(0x2001).tnt("T")),
              ElementsAre(kStart, "jmp 1000>2000", "cond 2001>1000"));
}

TEST(Path, PsbWhileTracingIsOffGoesUnnoticed) {
  const Code code = Code().at(0x1000).syscall().jz(0x1000);
  EXPECT_THAT(path(code, Trace().psb(0x1000).pgd().psb().psb().pge(0x1002).tnt("T")),
              ElementsAre(kStart, "syscall 1000>0 end", "begin 0>1002", "cond 1002>1000"));
}

TEST(Path, FupInPsbPlusBeforePgeIsIgnored) {
  const Code code = Code().at(0x1000).nop().jz(0x1000);
  const Trace trace = Trace().psb(0x1000).plain(PacketType::pad).pge(0x1000).tnt("T");
  EXPECT_THAT(path(code, trace), ElementsAre("begin 0>1000", "cond 1001>1000"));
  EXPECT_THAT(decode(code, trace, {.errata = {.bdm70 = false}}).text(),
              ElementsAre(kStart, "lost 1000>0"));
}

TEST(Path, PaddingBeforeTheFirstPsbIsNoLoss) {
  const Code code = Code().at(0x1000).jz(0x1000);
  EXPECT_THAT(path(code, Trace().raw({0, 0, 0}).psb(0x1000).tnt("T")),
              ElementsAre(kStart, "cond 1000>1000"));
}

TEST(Path, InstructionsMayLieAcrossMappings) {
  // The JZ's six bytes lie in three mappings, as across stored pages.
  const Code loop = Code()
                        .at(0x1000)
                        .nop()
                        .raw({0x0f, 0x84})
                        .at(0x1003)
                        .raw({0xf9, 0xff})
                        .at(0x1005)
                        .raw({0xff, 0xff})
                        .jmp(0x1000);
  EXPECT_THAT(path(loop, Trace().psb(0x1000).tnt("TNT")),
              ElementsAre(kStart, "cond 1001>1000", "jmp 1007>1000", "cond 1001>1000"));
}

TEST(Path, CodeThatChangesIsReadAsItWasThen) {
  const Code code =
      Code().at(0x1000).jz(0x1000).during(0, 100).at(0x1000).nop().nop().jz(0x1000).during(
          100, ~std::uint64_t{0});
  EXPECT_THAT(path(code, Trace()
                             .psb(0x1000)
                             .plain(PacketType::tsc, 50)
                             .tnt("TT")
                             .plain(PacketType::tsc, 100)
                             .tnt("T")),
              ElementsAre(kStart, "cond 1000>1000", "cond 1000>1000", "cond 1002>1000"));
}

TEST(Path, InstructionAcrossMappingsIsReadAsItWasThen) {
  // The second half of the JZ changes.
  const Code code = Code()
                        .at(0x1000)
                        .raw({0x0f, 0x84})
                        .at(0x1002)
                        .raw({0xfa, 0xff, 0xff, 0xff})
                        .during(0, 100)
                        .at(0x1002)
                        .raw({0xfa, 0x00, 0x00, 0x00})
                        .during(100, 1000);
  EXPECT_THAT(path(code, Trace()
                             .psb(0x1000)
                             .plain(PacketType::tsc, 50)
                             .tnt("TT")
                             .plain(PacketType::tsc, 100)
                             .tnt("T")),
              ElementsAre(kStart, "cond 1000>1000", "cond 1000>1000", "cond 1000>1100"));
}

TEST(Path, InstructionsAreCountedBetweenBranches) {
  const Code code = Code().at(0x1000).nop().nop().jz(0x1000).nop().ijmp();
  const Decoded out =
      decode(code, Trace().psb(0x1000).tnt("TN").tip(0x1000), {.want_instructions = true});
  ASSERT_EQ(out.branches.size(), 3u);
  EXPECT_EQ(out.branches[1].insns, 3u);
  EXPECT_EQ(out.branches[2].insns, 5u);  // the branch not taken is one of them
  EXPECT_EQ(out.stats.instructions, 8u);
  EXPECT_THAT(out.instructions,
              ElementsAre(0x1000, 0x1001, 0x1002, 0x1000, 0x1001, 0x1002, 0x1008, 0x1009));
}

TEST(Path, StatsCountWhatIsThere) {
  const Code code = Code().at(0x1000).jz(0x1000).ijmp();
  const Trace trace = Trace().psb(0x1000).tnt("TN").tip(0x1000).plain(PacketType::pad);
  const Stats stats = decode(code, trace).stats;
  EXPECT_EQ(stats.bytes, trace.size());
  EXPECT_EQ(stats.skipped_bytes, 0u);
  EXPECT_EQ(stats.tnt_bits, 2u);
  EXPECT_EQ(stats.not_taken, 1u);
  EXPECT_EQ(stats.branches[static_cast<int>(BranchKind::cond)], 1u);
  EXPECT_EQ(stats.branches[static_cast<int>(BranchKind::ijmp)], 1u);
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  for (const auto n : stats.packets) packets += n;
  for (const auto n : stats.packet_bytes) bytes += n;
  EXPECT_EQ(packets, 7u);
  EXPECT_EQ(bytes, trace.size());
  EXPECT_EQ(stats.packets[static_cast<int>(PacketType::psb)], 1u);
}

TEST(Path, PsbsInTheMiddleAreCountedOnce) {
  const Code code = Code().at(0x1000).jz(0x1000);
  const Trace trace = Trace().psb(0x1000).tnt("T").psb(0x1000).tnt("T").psb(0x1000);
  const Stats stats = decode(code, trace).stats;
  EXPECT_EQ(stats.packets[static_cast<int>(PacketType::psb)], 3u);
  std::uint64_t bytes = 0;
  for (const auto n : stats.packet_bytes) bytes += n;
  EXPECT_EQ(bytes, trace.size());
}

}  // namespace
}  // namespace hodo::flow
