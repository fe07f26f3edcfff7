// Hand-made blocks, and the packets that a processor would write for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "hodo/pt/reader.h"
#include "rig.h"

namespace hodo::unit {
namespace {

using pt::PacketType;
using testing::ElementsAre;
using testing::ElementsAreArray;

// A block at 0x1000 that goes on to itself, taken or not, as often as wanted.
struct Loop {
  Block head = cond(0x1000, 0x1000);
  Block next = jmp(0x1010, 0x1000);
};

// As many outcomes as there are letters: T stays in the head, N goes through `next`.
void run(Rig& rig, const Loop& loop, const std::string& outcomes) {
  for (const char outcome : outcomes) {
    if (outcome == 'N') rig.enter(loop.next);
    rig.enter(loop.head);
  }
}

unsigned count(Rig& rig, PacketType type) {
  unsigned n = 0;
  for (const pt::Packet& packet : rig.packets()) n += packet.type == type ? 1 : 0;
  return n;
}

TEST(PtUnit, IsOffUntilStarted) {
  PtUnit unit;
  const Block b = other(0x1000);
  unit.enter<true>(&b);
  unit.enter<true>(&b);
  unit.leave_context();
  unit.stop();
  EXPECT_EQ(unit.written(), 0u);
  EXPECT_FALSE(unit.enabled());
  EXPECT_EQ(unit.current(), nullptr);
}

TEST(PtUnit, StartsWithAPsbThatHasNoFup) {
  Rig::clock = 0x12345;
  Rig rig(kTiming);
  std::vector<PacketType> types;
  for (const pt::Packet& packet : rig.packets()) types.push_back(packet.type);
  EXPECT_THAT(types, ElementsAre(PacketType::psb, PacketType::tsc, PacketType::tma, PacketType::cbr,
                                 PacketType::mode_exec, PacketType::mode_tsx, PacketType::psbend));
  EXPECT_EQ(rig.packets()[1].payload, 0x12345u);
  EXPECT_EQ(rig.packets()[2].payload, 0x12345u / kTscPerCtc);
  EXPECT_EQ(rig.packets()[2].extra, 0x12345u % kTscPerCtc);
  EXPECT_EQ(rig.packets()[4].payload, pt::kExecCsL);
}

TEST(PtUnit, Tells32BitCode) {
  Rig rig(kPlain, 1 << 16, isa::Mode::bits32);
  EXPECT_EQ(rig.packets()[2].payload, pt::kExecCsD);
}

TEST(PtUnit, FirstBlockEnables) {
  Rig rig;
  const Block b = other(0x1000);
  rig.enter(b);
  EXPECT_TRUE(rig.unit.enabled());
  EXPECT_EQ(rig.unit.current(), &b);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000"));
}

TEST(PtUnit, FallingThroughAndJumpingWriteNothing) {
  Rig rig;
  const Block a = other(0x1000), b = jmp(0x1010, 0x3000), c = call(0x3000, 0x4000),
              d = ijmp(0x4000), e = other(0x5000);
  rig.enter(a).enter(b).enter(c).enter(d).enter(e);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TIP 0x5000"));
}

TEST(PtUnit, EveryNumberOfOutcomesComesOutWhole) {
  const Loop loop;
  const Block out = ijmp(0x1010), end = other(0x9000);
  std::string outcomes;
  for (unsigned n = 1; n <= 100; ++n) {
    outcomes += n * n % 7 < 3 ? 'T' : 'N';
    Rig rig;
    rig.enter(loop.head);
    run(rig, loop, outcomes);
    rig.enter(out).enter(end);  // one more, not taken, and a TIP that brings them all out
    std::string found;
    const auto packets = rig.packets();
    for (const pt::Packet& packet : packets) {
      if (packet.type != PacketType::tnt) continue;
      for (unsigned i = packet.count; i-- > 0;) found += packet.payload >> i & 1 ? 'T' : 'N';
    }
    EXPECT_EQ(found, outcomes + 'N') << n;
  }
}

TEST(PtUnit, FortySevenOutcomesMakeALongTntAtOnce) {
  Rig rig;
  const Loop loop;
  rig.enter(loop.head);
  run(rig, loop, std::string(46, 'T'));
  EXPECT_EQ(count(rig, PacketType::tnt), 0u);
  run(rig, loop, "T");
  ASSERT_EQ(count(rig, PacketType::tnt), 1u);
  EXPECT_EQ(rig.packets().back().count, 47);
}

TEST(PtUnit, SendsTheFewestBytesOfAnIp) {
  Rig rig;
  const std::vector<std::uint64_t> ips = {0x401000,
                                          0x402000,
                                          0x502000,
                                          0x7fff'0000'1000,
                                          0x7fff'0000'1000,
                                          0x7fff'0001'1000,
                                          0xffff'8000'0000'1000,
                                          0xffff'8000'0000'2000,
                                          0x8000'0000'0000'1000};
  std::vector<Block> blocks;
  for (const std::uint64_t ip : ips) blocks.push_back(ijmp(ip));
  for (const Block& b : blocks) rig.enter(b);
  std::vector<pt::IpBytes> forms;
  for (const pt::Packet& packet : rig.packets()) {
    if (packet.type == PacketType::tip_pge || packet.type == PacketType::tip) {
      forms.push_back(packet.ip_bytes);
    }
  }
  using enum pt::IpBytes;
  EXPECT_THAT(forms, ElementsAre(sext48, update16, update32, sext48, update16, update32, sext48,
                                 update16, full));
  const auto text = rig.text();
  EXPECT_EQ(text[6], "TIP 0xffff800000001000");
  EXPECT_EQ(text[8], "TIP 0x8000000000001000");
}

// --- return compression ---

TEST(PtUnit, ReturnToTheCallIsATakenBit) {
  Rig rig;
  const Block a = call(0x1000, 0x2000), b = ret(0x2000), c = ijmp(0x1010), d = other(0x3000);
  rig.enter(a).enter(b).enter(c).enter(d);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TNT T (1)", "TIP 0x3000"));
}

TEST(PtUnit, ReturnToTheCallIsATipWithoutCompression) {
  Rig rig(kPlain | hw::rtit_ctl::kDisRetc);
  const Block a = call(0x1000, 0x2000), b = ret(0x2000), c = other(0x1010);
  rig.enter(a).enter(b).enter(c);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TIP 0x1010"));
}

TEST(PtUnit, ReturnAfterAnIndirectCallIsATakenBit) {
  Rig rig;
  const Block a = icall(0x1000), b = ret(0x2000), c = ijmp(0x1010), d = other(0x3000);
  rig.enter(a).enter(b).enter(c).enter(d);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TIP 0x2000", "TNT T (1)", "TIP 0x3000"));
}

TEST(PtUnit, ReturnElsewhereIsATipAndUsesTheEntryUp) {
  Rig rig;
  const Block a = call(0x1000, 0x2000), b = ret(0x2000), c = ret(0x5000), d = other(0x1010);
  rig.enter(a).enter(b).enter(c).enter(d);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TIP 0x5000", "TIP 0x1010"));
}

TEST(PtUnit, ReturnToAddressZeroIsNotWhatAnEmptyEntrySays) {
  Rig rig;
  const Block a = ret(0x1000);
  rig.enter(a);
  rig.unit.interrupt(0, true);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TIP 0x0", "FUP 0x0", "TIP.PGD no ip"));
}

TEST(PtUnit, CallToTheNextInstructionIsNotRemembered) {
  Rig rig;
  const Block a = call(0x1000, 0x1010), b = ret(0x1010), c = other(0x1010);
  rig.enter(a).enter(b).enter(c);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TIP 0x1010"));
}

TEST(PtUnit, OnlyTheLast64CallsAreRemembered) {
  Rig rig;
  std::vector<Block> calls, returns;
  for (std::uint64_t i = 0; i <= 70; ++i) {
    calls.push_back(call(0x1000 + i * 0x100, 0x1100 + i * 0x100));
  }
  calls.push_back(ret(0x1000 + 71 * 0x100));
  for (std::uint64_t i = 71; i-- > 0;) returns.push_back(ret(0x1010 + i * 0x100));
  for (const Block& b : calls) rig.enter(b);
  for (const Block& b : returns) rig.enter(b);
  unsigned bits = 0, tips = 0;
  const Block end = ijmp(0x9'0000);
  rig.enter(end);
  for (const pt::Packet& packet : rig.packets()) {
    bits += packet.type == PacketType::tnt ? packet.count : 0;
    tips += packet.type == PacketType::tip ? 1 : 0;
  }
  EXPECT_EQ(bits, 64u);
  EXPECT_EQ(tips, 71u - 64 + 1);  // and the one from the outermost
}

TEST(PtUnit, NothingIsReturnedToAcrossADisable) {
  Rig rig;
  const Block a = call(0x1000, 0x2000), b = syscall(0x2000), c = ret(0x2010), d = other(0x1010);
  rig.enter(a).enter(b);
  rig.unit.leave_context();
  rig.enter(c).enter(d);
  EXPECT_THAT(rig.text(),
              ElementsAre("TIP.PGE 0x1000", "TIP.PGD no ip", "TIP.PGE 0x2010", "TIP 0x1010"));
}

// --- leaving and events ---

TEST(PtUnit, PendingOutcomesComeBeforeLeaving) {
  Rig rig;
  const Loop loop;
  rig.enter(loop.head);
  run(rig, loop, "TNT");
  rig.unit.leave_context();
  EXPECT_FALSE(rig.unit.enabled());
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TNT TNT (3)", "TIP.PGD no ip"));
}

TEST(PtUnit, FaultInsideABlockLeavesItsBranchOut) {
  Rig rig;
  const Block a = cond(0x1000, 0x2000);
  rig.enter(a);
  rig.unit.interrupt(0x1004, true);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "FUP 0x1004", "TIP.PGD no ip"));
}

TEST(PtUnit, FaultAtTheTargetHasTakenTheBranch) {
  Rig rig;
  const Block a = cond(0x1000, 0x2000);
  rig.enter(a);
  rig.unit.interrupt(0x2000, true);
  EXPECT_THAT(rig.text(),
              ElementsAre("TIP.PGE 0x1000", "TNT T (1)", "FUP 0x2000", "TIP.PGD no ip"));
}

TEST(PtUnit, AsynchronousSignalComesBehindTheBranch) {
  Rig rig;
  const Block a = ijmp(0x1000);
  rig.enter(a);
  rig.unit.interrupt(0x7000, false);
  EXPECT_THAT(rig.text(),
              ElementsAre("TIP.PGE 0x1000", "TIP 0x7000", "FUP 0x7000", "TIP.PGD no ip"));
}

TEST(PtUnit, InterruptInstructionLeavesByItself) {
  Rig rig;
  Block a = syscall(0x1000);
  a.cls = isa::InsnClass::int_;
  rig.enter(a);
  rig.unit.interrupt(0x1010, false);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TIP.PGD no ip"));
}

TEST(PtUnit, HandlerThatIsReachedByASignalIsEnteredAnew) {
  Rig rig;
  const Block a = cond(0x1000, 0x2000);
  Block handler = other(0x8000);
  handler.flags = Block::kHandler;
  rig.by_signal = true;
  rig.interrupted_ip = 0x1010;
  rig.enter(a).enter(handler);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TNT N (1)", "FUP 0x1010", "TIP.PGD no ip",
                                      "TIP.PGE 0x8000"));
  EXPECT_EQ(rig.unit.unexplained(), 0u);
}

TEST(PtUnit, HandlerThatIsCalledLikeAnyFunction) {
  Rig rig;
  const Block a = ijmp(0x1000);
  Block handler = other(0x8000);
  handler.flags = Block::kHandler;
  rig.enter(a).enter(handler);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TIP 0x8000"));
}

TEST(PtUnit, JumpThatNothingExplainsIsAGap) {
  Rig rig;
  const Block a = other(0x1000), b = other(0x7000);
  rig.enter(a).enter(b);
  const auto text = rig.text();
  ASSERT_GE(text.size(), 3u);
  EXPECT_EQ(text[1], "OVF");
  EXPECT_EQ(text[2], "FUP 0x7000");
  EXPECT_EQ(rig.unit.unexplained(), 1u);
  EXPECT_EQ(rig.unit.overflows(), 0u);
  EXPECT_EQ(rig.unit.current(), &b);
}

TEST(PtUnit, SteppedInstructionCutsTheBlockShort) {
  Rig rig;
  const Block a = cond(0x1000, 0x2000);
  const Block step = other(0x1004, 4), rest = other(0x1008, 8);
  rig.enter(a);
  rig.unit.enter_stepped(&step);
  EXPECT_EQ(rig.unit.current(), &step);
  rig.enter(rest);
  rig.unit.leave_context();
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TIP.PGD no ip"));
}

TEST(PtUnit, SteppedInstructionThatIsReachedByABranch) {
  Rig rig;
  const Block a = cond(0x1000, 0x2000), step = other(0x2000, 4);
  rig.enter(a);
  rig.unit.enter_stepped(&step);
  rig.unit.leave_context();
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TNT T (1)", "TIP.PGD no ip"));
}

TEST(PtUnit, CodeChangeIsAPause) {
  Rig::clock = 1000;
  Rig rig(kTiming);
  const Block a = cond(0x1000, 0x2000), b = other(0x2000);
  rig.enter(a);
  rig.unit.code_changed();
  EXPECT_EQ(rig.unit.current(), &a);
  Rig::clock = 5000;
  rig.enter(b);
  EXPECT_THAT(rig.text(), ElementsAre("TSC 0x3e8", "TMA CTC 0x7 FC 0x68", "TIP.PGE 0x1000",
                                      "TNT T (1)", "FUP 0x2000", "TIP.PGD no ip", "TSC 0x1388",
                                      "TMA CTC 0x27 FC 0x8", "TIP.PGE 0x2000"));
}

TEST(PtUnit, CodeChangeIsAPauseBehindASteppedInstruction) {
  Rig::clock = 1000;
  Rig rig(kTiming);
  const Block a = cond(0x1000, 0x2000), step = other(0x1004, 4), rest = other(0x1008, 8);
  rig.enter(a);
  rig.unit.code_changed();
  rig.unit.enter_stepped(&step);
  EXPECT_EQ(rig.unit.current(), &step);
  Rig::clock = 5000;
  rig.enter(rest);
  EXPECT_THAT(rig.text(),
              ElementsAre("TSC 0x3e8", "TMA CTC 0x7 FC 0x68", "TIP.PGE 0x1000", "FUP 0x1008",
                          "TIP.PGD no ip", "TSC 0x1388", "TMA CTC 0x27 FC 0x8", "TIP.PGE 0x1008"));
}

TEST(PtUnit, LeavingAFilterSaysWhereTo) {
  Rig rig;
  const Block a = cond(0x1000, 0x2000), out = other(0x2000), in = other(0x1010);
  rig.enter(a);
  rig.unit.leave_filter(&out);
  rig.unit.leave_filter(&out);  // still outside
  rig.enter(in);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TIP.PGD 0x2000", "TIP.PGE 0x1010"));
}

// --- PSB, time, output ---

TEST(PtUnit, PsbComesEveryPeriodAndSaysWhereExecutionIs) {
  Rig rig(kPlain | 0ULL << 24);  // 2 KiB
  const Block a = ijmp(0x1000), b = ijmp(0x7'0000'1000);
  for (int i = 0; i < 4000; ++i) rig.enter(i % 2 == 0 ? a : b);
  pt::PacketReader reader(rig.bytes());
  std::vector<std::size_t> at;
  pt::LastIp last;
  bool in_psb = false;
  std::uint64_t before = 0;
  while (!reader.at_end()) {
    const std::size_t offset = reader.offset();
    const auto packet = reader.next();
    ASSERT_TRUE(packet);
    if (packet->type == PacketType::psb) at.push_back(offset), in_psb = true, last.clear();
    if (last.update(*packet)) {
      // The decoder stands where the packet before the PSB had brought it.
      if (in_psb && at.size() > 1) {
        EXPECT_EQ(last.ip(), before);
      }
      before = last.ip();
    }
    if (packet->type == PacketType::psbend) in_psb = false;
  }
  ASSERT_GT(at.size(), 4u);
  for (std::size_t i = 1; i < at.size(); ++i) {
    EXPECT_GE(at[i] - at[i - 1], 2048u);
    EXPECT_LE(at[i] - at[i - 1], 2048u + 2 * unit::PtOutput{}.service_bytes);
  }
}

TEST(PtUnit, ReturnBeyondAPsbIsATip) {
  Rig rig(kPlain);
  const Block a = call(0x1000, 0x2000), b = ijmp(0x2000), c = ret(0x3000), d = other(0x1010);
  rig.enter(a).enter(b);
  for (std::uint64_t before = rig.unit.written(); rig.unit.written() - before < 40'000;) {
    rig.enter(b);  // an indirect jump to itself
  }
  rig.enter(c).enter(d);
  EXPECT_EQ(rig.text().back(), "TIP 0x1010");
}

TEST(PtUnit, MtcsCountTheCrystalClock) {
  Rig::clock = 0;
  Rig rig(kTiming);
  const Block a = ijmp(0x1000);
  rig.enter(a);
  std::vector<std::uint64_t> mtcs;
  for (int i = 0; i < 20000; ++i) {
    Rig::clock += 50;
    rig.enter(a);
  }
  std::uint64_t last = 0;
  unsigned seen = 0;
  for (const pt::Packet& packet : rig.packets()) {
    if (packet.type != PacketType::mtc) continue;
    ++seen;
    // CTC is TSC / 128, an MTC counts 2^3 of it: the unit may skip some, but never goes back.
    const std::uint64_t step = (packet.payload - last) & 0xff;
    EXPECT_GT(step, 0u);
    EXPECT_LT(step, 128u);
    last = packet.payload;
  }
  EXPECT_GT(seen, 5u);
}

TEST(PtUnit, LongSilenceIsATscAndNotAnMtc) {
  Rig::clock = 0;
  Rig rig(kTiming);
  const Block a = ijmp(0x1000);
  rig.enter(a);
  Rig::clock += 300ULL << 10;  // 300 MTC periods: 8 bits cannot say that
  const unsigned before = count(rig, PacketType::tsc);
  for (int i = 0; i < 300; ++i) rig.enter(a);
  EXPECT_EQ(count(rig, PacketType::mtc), 0u);
  EXPECT_EQ(count(rig, PacketType::tsc), before + 1);
}

TEST(PtUnit, CycCountsInstructions) {
  Rig rig(kPlain | hw::rtit_ctl::kCycEn);
  Block a = ijmp(0x1000), b = ijmp(0x2000);
  a.insns = 5;
  b.insns = 300;
  rig.enter(a).enter(b).enter(a);
  rig.unit.leave_context();
  std::uint64_t total = 0;
  for (const pt::Packet& packet : rig.packets()) {
    if (packet.type == PacketType::cyc) total += packet.payload;
  }
  EXPECT_EQ(total, 310u);
}

TEST(PtUnit, CycWaitsForItsThreshold) {
  Rig rig(kPlain | hw::rtit_ctl::kCycEn | 7ULL << 19);  // 64 cycles
  Block a = ijmp(0x1000);
  a.insns = 5;
  for (int i = 0; i < 100; ++i) rig.enter(a);
  for (const pt::Packet& packet : rig.packets()) {
    if (packet.type != PacketType::cyc) continue;
    EXPECT_GE(packet.payload, 64u);
  }
  EXPECT_EQ(count(rig, PacketType::cyc), 100u / 13);
}

TEST(PtUnit, FullOutputIsAnOverflowThatSaysWhereItGoesOn) {
  Rig rig(kPlain, 4096);
  const Block a = ijmp(0x1000), b = ijmp(0x7'0000'2000), c = other(0x3000);
  rig.draining = false;
  for (int i = 0; i < 10000; ++i) rig.enter(i % 2 == 0 ? a : b);
  EXPECT_EQ(rig.unit.overflows(), 1u);
  EXPECT_FALSE(rig.unit.enabled());
  EXPECT_LE(rig.unit.written(), 4096u);
  rig.draining = true;
  rig.enter(a).enter(c);
  const auto text = rig.text();
  const auto ovf = std::ranges::find(text, "OVF");
  ASSERT_NE(ovf, text.end());
  EXPECT_EQ(*(ovf + 1), "FUP 0x1000");
  EXPECT_EQ(text.back(), "TIP 0x3000");
  EXPECT_EQ(rig.unit.overflows(), 1u);
}

TEST(PtUnit, StopIsATraceStop) {
  Rig rig;
  const Loop loop;
  rig.enter(loop.head);
  run(rig, loop, "TT");
  rig.unit.stop();
  const std::uint64_t written = rig.unit.written();
  run(rig, loop, "TTTT");
  rig.unit.leave_context();
  rig.unit.stop();
  EXPECT_EQ(rig.unit.written(), written);
  EXPECT_THAT(rig.text(), ElementsAre("TIP.PGE 0x1000", "TNT TT (2)", "FUP 0x1000", "TIP.PGD no ip",
                                      "TraceSTOP"));
}

// The recorder has its answer ready when the unit asks for room.
TEST(PtUnit, StopWhileAskingForRoomIsNoOverflow) {
  Rig rig(kPlain, 4096);
  const Block a = ijmp(0x1000);
  rig.enter(a);
  rig.stop_when_asked = true;
  for (int i = 0; i < 4000; ++i) rig.enter(a);
  EXPECT_EQ(rig.unit.overflows(), 0u);
  EXPECT_EQ(rig.text().back(), "TraceSTOP");
}

TEST(PtUnit, StopAndFinishAfterALossSayThatThereWasOne) {
  const Block a = ijmp(0x1000);
  for (const bool stop : {false, true}) {
    Rig rig(kPlain, 4096);
    rig.draining = false;
    for (int i = 0; i < 4000; ++i) rig.enter(a);
    if (stop) {
      rig.unit.stop();
    } else {
      rig.finish();
    }
    const auto text = rig.text();
    EXPECT_EQ(text[text.size() - (stop ? 2 : 1)], "OVF");
  }
}

TEST(PtUnit, StopWhileDisabledIsATraceStopAlone) {
  Rig rig;
  rig.unit.stop();
  EXPECT_THAT(rig.text(), ElementsAre("TraceSTOP"));
}

// What the recorder does with what a killed process has left.
TEST(PtUnit, LeavesWhatIsPending) {
  Rig rig;
  const Loop loop;
  rig.enter(loop.head);
  run(rig, loop, "TNTTN");
  const std::uint64_t written = rig.unit.written();
  rig.finish();
  EXPECT_EQ(rig.bytes().size(), written + 1);
  const PacketType last = rig.packets().back().type;
  EXPECT_EQ(last, PacketType::tnt);
  EXPECT_EQ(rig.packets().back().count, 5);
  EXPECT_EQ(rig.packets().back().payload, 0b10110u);
}

// As many as there can be: those that fit no packet yet.
TEST(PtUnit, LeavesUpTo46Outcomes) {
  const Loop loop;
  for (unsigned count = 0; count < 47; ++count) {
    Rig rig;
    rig.enter(loop.head);
    std::string outcomes;
    for (unsigned i = 0; i < count; ++i) outcomes += i % 3 == 0 ? 'T' : 'N';
    run(rig, loop, outcomes);
    const std::size_t before = rig.packets().size();
    rig.finish();
    std::string found;
    const auto packets = rig.packets();
    for (std::size_t i = before; i < packets.size(); ++i) {
      for (unsigned bit = packets[i].count; bit-- != 0;) {
        found += (packets[i].payload >> bit & 1) != 0 ? 'T' : 'N';
      }
    }
    EXPECT_EQ(found, outcomes) << count;
  }
}

// Nobody has to know the packets' bounds for it.
TEST(PtUnit, LeavesADigestThatTellsWhereItsPacketsEnd) {
  const Block a = ijmp(0x1000);
  const Block b = ijmp(0xffff'8000'1234'0000);  // the longest addresses
  Rig rig(kTiming, 4096);
  for (int i = 0; i < 3000; ++i) {
    rig.enter(i % 7 == 0 ? b : a);
    StreamDigest whole(Rig::kKey);
    whole.add(rig.bytes().data(), rig.bytes().size());
    ASSERT_EQ(rig.remains.digest, whole.value()) << i;
    ASSERT_EQ(rig.unit.digest(), whole.value()) << i;
  }
}

// Under the stop bit are 16 bits of the digest, then the outcomes.
TEST(PtUnit, OutcomesThatNoUnitLeavesAreNone) {
  constexpr std::uint64_t kDigest = 0x1234'5678'9abc'def0;
  const auto size_of = [](std::uint64_t left) {
    const auto end = pending_packets(left, kDigest);
    return end ? static_cast<int>(end->size) : -1;
  };
  EXPECT_EQ(size_of(0x1'def0), 0);
  EXPECT_EQ(size_of(0x1'def0 << 1 | 1), 1);
  EXPECT_EQ(size_of(0xdef0ULL << 47 | 1ULL << 63), 8) << "47: the packet was about to be written";
  EXPECT_EQ(size_of(kDigest ^ 1), 2) << "packets are missing";
  EXPECT_EQ(size_of(0x1'def1), -1) << "left beside another digest";
  EXPECT_EQ(size_of(0x1'0000), -1);
  EXPECT_EQ(size_of(0xdef0), -1) << "no stop bit";
  EXPECT_EQ(size_of(0), -1);
  EXPECT_EQ(size_of(~std::uint64_t{0}), -1);
}

TEST(StreamDigest, DoesNotDependOnThePieces) {
  std::array<std::uint8_t, 261> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 37);
  StreamDigest whole(1);
  whole.add(bytes.data(), bytes.size());
  for (unsigned piece = 1; piece <= 8; ++piece) {
    StreamDigest parts(1);
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      const auto size = std::min<std::size_t>(piece, bytes.size() - at);
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data() + at, size);
      parts.add(value, static_cast<unsigned>(size));
    }
    EXPECT_EQ(parts.value(), whole.value()) << piece;
  }
  for (std::size_t piece = 1; piece <= 100; ++piece) {
    StreamDigest parts(1);
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      parts.add(bytes.data() + at, std::min(piece, bytes.size() - at));
    }
    EXPECT_EQ(parts.value(), whole.value()) << "at once " << piece;
  }
}

TEST(StreamDigest, TellsTheOrderOfWords) {
  const auto digest = [&](std::size_t one, std::size_t other) {
    std::array<std::uint8_t, 96> bytes{};
    bytes[8 * one] = 1;
    bytes[8 * other] = 2;
    StreamDigest out(1);
    out.add(bytes.data(), bytes.size());
    return out.value();
  };
  for (std::size_t one = 0; one < 12; ++one) {
    for (std::size_t other = 0; other < one; ++other) {
      EXPECT_NE(digest(one, other), digest(other, one)) << one << " " << other;
    }
  }
}

// Every byte counts, and how many there are; so does the key.
TEST(StreamDigest, TellsStreamsApart) {
  std::vector<std::uint8_t> bytes(43);  // the last three are in no whole word
  const auto digest = [&](std::uint64_t key) {
    StreamDigest out(key);
    out.add(bytes.data(), bytes.size());
    return out.value();
  };
  const std::uint64_t zeros = digest(1);
  EXPECT_NE(digest(2), zeros);
  for (std::uint8_t& byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<std::uint8_t>(1 << bit);
      EXPECT_NE(digest(1), zeros) << &byte - bytes.data() << " " << bit;
    }
    byte = 0;
  }
  for (int more = 0; more < 20; ++more) {
    bytes.push_back(0);
    EXPECT_NE(digest(1), zeros) << more;
  }
}

}  // namespace
}  // namespace hodo::unit
