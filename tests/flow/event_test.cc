// The packets that tell something else than the path, and where it belongs.
#include "fixture.h"

namespace hodo::flow {
namespace {

using pt::PacketType;
using testing::ElementsAre;
using testing::SizeIs;

constexpr std::uint32_t kIpFollows = 1;

// Without the MODE.Exec that every Trace::psb() brings.
std::vector<Event> events(const Code& code, const Trace& trace) {
  Decoded out = decode(code, trace);
  for (const Loss& loss : out.losses) ADD_FAILURE() << loss.reason;
  std::erase_if(out.events, [](const Event& e) { return e.kind == EventKind::exec_mode; });
  return out.events;
}

std::string text(const Event& event) {
  char buffer[96];
  std::snprintf(buffer, sizeof buffer, "%s @%llx %llx %x", std::string(name(event.kind)).c_str(),
                static_cast<unsigned long long>(event.ip),
                static_cast<unsigned long long>(event.payload), event.extra);
  return buffer;
}

std::vector<std::string> told(const Code& code, const Trace& trace) {
  std::vector<std::string> out;
  for (const Event& event : events(code, trace)) out.push_back(text(event));
  return out;
}

const Code kStraight = Code().at(0x1000).nop().nop().nop().jz(0x1000);

TEST(Events, PipAloneBindsToMovCr3) {
  const Code code = Code().at(0x1000).nop().jmp(0x1100).at(0x1100).nop().mov_cr3().jz(0x1000);
  const Decoded out =
      decode(code, Trace().psb(0x1000).plain(PacketType::pip, 0x12340000, 1).tnt("T"));
  EXPECT_EQ(text(out.events.back()), "paging @1101 12340000 1");
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "jmp 1001>1100", "cond 1104>1000"));
  EXPECT_EQ(out.order.back(), "branches");
  EXPECT_EQ(out.stats.instructions, 5u);
}

TEST(Events, PipBeforeAFarBranchStaysBeforeIt) {
  const Code code = Code().at(0x1000).nop().syscall();
  EXPECT_THAT(told(code, Trace().psb(0x1000).plain(PacketType::pip, 0x1000).tip(0x1000)),
              ElementsAre("paging @1000 1000 0"));
}

TEST(Events, LookingForAnInstructionLeavesNoTrace) {
  // The walk for MOV CR3 passes a call before it has to give up.
  const Code code = Code().at(0x1000).call(0x1100).ret().at(0x1100).jz(0x1100).ret();
  const Decoded out = decode(code, Trace().psb(0x1000).plain(PacketType::pip, 0x1000).tnt("NTT"));
  EXPECT_THAT(out.text(),
              ElementsAre("begin 0>1000 resync", "call 1000>1100", "ret 1106>1005", "lost 1005>0"));
  EXPECT_EQ(out.stats.instructions, 3u);
}

TEST(Events, PipOfAnInterruptLiesAtItsFup) {
  EXPECT_THAT(told(kStraight, Trace()
                                  .psb(0x1000)
                                  .fup(0x1002)
                                  .plain(PacketType::pip, 0x1000)
                                  .plain(PacketType::vmcs, 0x5000)
                                  .tip(0x1000)),
              ElementsAre("paging @1002 1000 0", "vmcs @1002 5000 0"));
}

TEST(Events, StatusInPsbPlusIsTold) {
  Trace trace;
  trace.plain(PacketType::psb)
      .plain(PacketType::pip, 0x7000, 1)
      .plain(PacketType::vmcs, 0x5000)
      .plain(PacketType::cbr, 20)
      .plain(PacketType::psbend);
  EXPECT_THAT(told(kStraight, trace),
              ElementsAre("paging @0 7000 1", "vmcs @0 5000 0", "cbr @0 14 0"));
}

TEST(Events, CbrIsToldWhenItChanges) {
  EXPECT_THAT(events(kStraight, Trace()
                                    .psb(0x1000)
                                    .plain(PacketType::cbr, 20)
                                    .plain(PacketType::cbr, 20)
                                    .plain(PacketType::cbr, 21)),
              SizeIs(2));
}

TEST(Events, ExecModeIsToldWhenItChanges) {
  const Decoded out = decode(kStraight, Trace().psb(0x1000).psb(0x1000).psb(0x1000));
  EXPECT_EQ(out.stats.events[static_cast<int>(EventKind::exec_mode)], 1u);
}

TEST(Events, PtwriteWithItsIp) {
  const Code code = Code().at(0x1000).nop().ptwrite().jmp(0x1000);
  Trace trace = Trace().psb(0x1000);
  trace.plain(PacketType::ptw, 0xabcd, kIpFollows, 8).fup(0x1001);
  // The same instruction again proves the jump back.
  trace.plain(PacketType::ptw, 0x4321, kIpFollows, 4).fup(0x1001);
  EXPECT_THAT(told(code, trace), ElementsAre("ptwrite @1001 abcd 8", "ptwrite @1001 4321 4"));
  EXPECT_THAT(path(code, trace), ElementsAre("begin 0>1000 resync", "jmp 1006>1000"));
}

TEST(Events, PtwriteWithoutIpIsTheNextOne) {
  const Code code = Code().at(0x1000).nop().ptwrite().jmp(0x1000);
  Trace trace = Trace().psb(0x1000);
  trace.plain(PacketType::ptw, 1, 0, 8).plain(PacketType::ptw, 2, 0, 8);
  EXPECT_THAT(told(code, trace), ElementsAre("ptwrite @1001 1 8", "ptwrite @1001 2 8"));
  EXPECT_THAT(path(code, trace), ElementsAre("begin 0>1000 resync", "jmp 1006>1000"));
  // Behind a branch that the packets do not decide its place is not known.
  EXPECT_THAT(told(kStraight, Trace().psb(0x1000).plain(PacketType::ptw, 1, 0, 8)),
              ElementsAre("ptwrite @0 1 8"));
}

TEST(Events, PowerEventsShareAFup) {
  EXPECT_THAT(
      told(kStraight, Trace()
                          .psb(0x1000)
                          .plain(PacketType::mwait, 0x20)
                          .plain(PacketType::pwre, 0x13)
                          .plain(PacketType::exstop, 0, kIpFollows)
                          .fup(0x1002)
                          .plain(PacketType::pwrx, 0x121)
                          .tnt("T")),
      ElementsAre("pwre @1000 13 0", "mwait @1002 20 0", "exstop @1002 0 1", "pwrx @1002 121 0"));
}

TEST(Events, ExstopWithoutIp) {
  EXPECT_THAT(told(kStraight, Trace().psb(0x1000).plain(PacketType::exstop).tnt("T")),
              ElementsAre("exstop @1000 0 0"));
}

TEST(Events, BlocksOfItems) {
  EXPECT_THAT(told(kStraight, Trace()
                                  .psb(0x1000)
                                  .plain(PacketType::bbp, 4)
                                  .plain(PacketType::bip, 0x11, 2, 8)
                                  .plain(PacketType::bep, 0, kIpFollows)
                                  .fup(0x1001)
                                  .tnt("T")),
              ElementsAre("block-begin @1000 4 0", "block-item @1000 11 2", "block-end @1001 0 1"));
}

TEST(Events, ControlFlowEventNamesTheBranch) {
  // CFE type 1 (INTR) with a vector, without an IP of its own: it is the FUP's.
  const auto interrupt = [](std::uint32_t vector) {
    return Trace().psb(0x1000).plain(PacketType::cfe, 1, vector << 8).fup(0x1001).tip(0x1000);
  };
  EXPECT_THAT(path(kStraight, interrupt(14)),
              ElementsAre("begin 0>1000 resync", "exc 1001>1000 async"));
  EXPECT_THAT(path(kStraight, interrupt(2)),
              ElementsAre("begin 0>1000 resync", "irq 1001>1000 async"));
  EXPECT_THAT(path(kStraight, interrupt(0x80)),
              ElementsAre("begin 0>1000 resync", "irq 1001>1000 async"));
  EXPECT_THAT(told(kStraight, interrupt(14)), ElementsAre("control-flow @1001 1 e"));
  EXPECT_THAT(path(kStraight, Trace(interrupt(14)).fup(0x1001).tip(0x1000)),
              ElementsAre("begin 0>1000 resync", "exc 1001>1000 async", "irq 1001>1000 async"));
}

TEST(Events, ControlFlowEventWithAFupOfItsOwn) {
  EXPECT_THAT(path(kStraight, Trace()
                                  .psb(0x1000)
                                  .plain(PacketType::cfe, 1, 14u << 8 | kIpFollows)
                                  .fup(0x1001)
                                  .tnt("T")),
              ElementsAre("begin 0>1000 resync", "cond 1003>1000"));
}

TEST(Events, DataAndMaintenance) {
  EXPECT_THAT(told(kStraight, Trace()
                                  .psb(0x1000)
                                  .plain(PacketType::evd, 0xcafe, 33)
                                  .plain(PacketType::mnt, 0x99)
                                  .tnt("T")),
              ElementsAre("event-data @1000 cafe 21", "maintenance @1000 99 0"));
}

TEST(Events, ModeExecBoundToAFupIsNoInterrupt) {
  EXPECT_THAT(path(kStraight, Trace()
                                  .psb(0x1000)
                                  .plain(PacketType::mode_exec, pt::kExecCsL | pt::kExecIf)
                                  .fup(0x1001)
                                  .tnt("T")),
              ElementsAre("begin 0>1000 resync", "cond 1003>1000"));
}

TEST(Events, TsxWhileTracingIsOff) {
  const Decoded out =
      decode(kStraight, Trace().psb().plain(PacketType::mode_tsx, 1).pge(0x1000).tnt("T"));
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 tx", "cond 1003>1000 tx"));
}

TEST(Events, AbortOutOfTheTrace) {
  EXPECT_THAT(path(kStraight, Trace().psb(0x1000).plain(PacketType::mode_tsx, 2).fup(0x1001).pgd()),
              ElementsAre("begin 0>1000 resync", "abort 1001>0 end"));
}

TEST(Events, TraceStopIsTold) {
  EXPECT_THAT(
      told(Code().at(0x1000).syscall(), Trace().psb(0x1000).pgd().plain(PacketType::trace_stop)),
      ElementsAre("trace-stop @0 0 0"));
}

TEST(Events, OnesWithoutTheirFupAreToldAtThePsbAndTheEnd) {
  Trace trace = Trace().psb(0x1000).plain(PacketType::mwait, 1).psb(0x1000);
  trace.fup(0x1001).tip(0x1000).plain(PacketType::ptw, 2, kIpFollows, 8);
  EXPECT_THAT(told(kStraight, trace), ElementsAre("mwait @0 1 0", "ptwrite @0 2 8"));
}

TEST(Events, AFloodOfOnesWithoutFupIsTold) {
  Trace trace = Trace().psb(0x1000);
  for (int i = 0; i < 1000; ++i) trace.plain(PacketType::mwait, 2);
  EXPECT_THAT(told(kStraight, trace), SizeIs(1000));
}

// MWAIT's FUP comes with the EXSTOP, if one comes.
TEST(Events, AnMwaitThatDidNotSleepTakesNoFup) {
  const Code code = Code().at(0x1000).nop().nop().jz(0x1000).at(0x2000).iret();
  const auto mwait = [] { return Trace().psb(0x1000).plain(PacketType::mwait, 0x10); };
  for (const Trace& trace : {mwait().plain(PacketType::exstop).fup(0x1001).tip(0x2000).tip(0x1001),
                             mwait().tnt("T").fup(0x1001).tip(0x2000).tip(0x1001)}) {
    const Decoded out = decode(code, Trace(trace).tnt("T"));
    EXPECT_THAT(out.losses, testing::IsEmpty());
    EXPECT_EQ(out.stats.branches[static_cast<int>(BranchKind::irq)], 1u);
    EXPECT_EQ(text(out.events[1]), "mwait @0 10 0");
  }
  EXPECT_THAT(told(code, mwait().plain(PacketType::exstop, 0, 1).fup(0x1001).tnt("T")),
              ElementsAre("mwait @1001 10 0", "exstop @1001 0 1"));
}

// Each is followed by what does not belong behind it.
TEST(Events, PacketsOutOfPlaceAreLosses) {
  constexpr std::uint32_t kPageFault = 14u << 8;
  const auto on = [] { return Trace().psb(0x1000); };
  const auto cr2 = [&] { return on().plain(PacketType::evd, 0x1234, 0); };
  const auto vmx = [&] { return on().plain(PacketType::evd, 7, 1); };
  const std::pair<const char*, Trace> cases[] = {
      {"FUP for nothing", on().plain(PacketType::fup)},
      {"FUP for nothing while off", Trace().psb().plain(PacketType::fup)},
      {"PSBEND alone", on().plain(PacketType::psbend)},
      {"PTW without its FUP", on().plain(PacketType::ptw, 7, kIpFollows, 8).tnt("T")},
      {"EXSTOP without its FUP", on().plain(PacketType::exstop, 0, kIpFollows).psb(0x1000)},
      {"MODE.TSX without its FUP", on().plain(PacketType::mode_tsx, 1).tnt("T")},
      {"CFE without its FUP", on().plain(PacketType::cfe, 1, kPageFault).tnt("T")},
      {"CR2 and IRET", cr2().plain(PacketType::cfe, 2, 0)},
      {"CR2 and a VM exit", cr2().plain(PacketType::cfe, 8, 0)},
      {"VM exit and a page fault", vmx().plain(PacketType::cfe, 1, kPageFault)},
      {"VM exit and RSM", vmx().plain(PacketType::cfe, 4, 0)},
      {"CR2 and a qualification", cr2().plain(PacketType::evd, 7, 1)},
      {"two of a kind", vmx().plain(PacketType::evd, 7, 1)},
      {"EVD without CFE", cr2().tnt("T")},
      {"EVD without CFE, FUP", cr2().fup(0x1001)},
      {"EVD without CFE, PSB", cr2().psb(0x1000)},
  };
  for (const auto& [what, trace] : cases) {
    EXPECT_THAT(decode(kStraight, trace).losses, SizeIs(1)) << what;
  }
}

TEST(Events, EventDataBelongsToItsCfe) {
  constexpr std::uint32_t kPageFault = 14u << 8;
  const Code code = Code().at(0x1000).nop().nop().jz(0x1000).at(0x2000).iret();
  EXPECT_THAT(told(code, Trace()
                             .psb(0x1000)
                             .plain(PacketType::evd, 0x1234, 0)
                             .plain(PacketType::cfe, 1, kPageFault)
                             .fup(0x1001)
                             .tip(0x2000)),
              ElementsAre("event-data @1000 1234 0", "control-flow @1001 1 e"));
  EXPECT_THAT(told(code, Trace()
                             .psb(0x1000)
                             .plain(PacketType::evd, 7, 1)
                             .plain(PacketType::evd, 8, 2)
                             .plain(PacketType::evd, 9, 33)  // of a type that is not known yet
                             .plain(PacketType::cfe, 8, 0)
                             .fup(0x1001)
                             .pgd()),
              SizeIs(4));
}

TEST(Events, ASoftwareInterruptIsItsInstructions) {
  const Code code = Code().at(0x1000).nop().int3().jz(0x1000).at(0x2000).iret();
  const auto swintr = [](std::uint64_t at) {
    return Trace().psb(0x1000).plain(PacketType::cfe, 14, 3u << 8).fup(at).tip(0x2000);
  };
  const Decoded out = decode(code, swintr(0x1001));
  EXPECT_THAT(out.text(), ElementsAre("begin 0>1000 resync", "int 1001>2000"));
  EXPECT_EQ(out.branches.back().insns, 2u);
  EXPECT_THAT(path(code, swintr(0x1000)),
              ElementsAre("begin 0>1000 resync", "int 1000>2000 async"));
}

}  // namespace
}  // namespace hodo::flow
