// Paths that come again: loops, calls and returns, changed code. Every decode() here also compares
// walking with following what is remembered, so that most of these tests only make traces repeat.
#include <gtest/gtest.h>

#include "fixture.h"
#include "hodo/flow/coverage.h"
#include "ways.h"

namespace hodo::flow {
namespace {

constexpr int kRounds = 40;  // of some packets each: many stretches

void expect_all_ways_the_same(const Code& code, const Trace& trace, std::uint64_t least_branches) {
  for (const bool not_taken : {false, true}) {
    const Decoded out = decode(code, trace, {.want_not_taken = not_taken});
    EXPECT_GE(out.branches.size(), least_branches);
    EXPECT_TRUE(out.losses.empty()) << out.losses[0].reason;
  }
}

TEST(Remembered, ALoopOfShortTnts) {
  const Code code = Code().at(0x1000).nop().jz(0x1000).jmp(0x1000);
  Trace trace;
  trace.psb(0x1000);
  for (int i = 0; i < kRounds; ++i) trace.tnt("TTTTTT").tnt("TNTTTN").tnt("T");
  expect_all_ways_the_same(code, trace, kRounds * 10);
}

// All but the first rounds are paths that were taken before. That equal numbers mean equal branches
// is compared in every decode().
TEST(Remembered, SaysWhichBranchesAreAPathThatComesAgain) {
  struct Repeated final : BranchSink {
    std::uint64_t branches = 0;
    std::uint64_t repeated = 0;
    void on_branches(std::span<const Branch> batch) override { branches += batch.size(); }
    bool wants_repeats() const override { return true; }
    void on_repeats(const Repeats& batch) override {
      on_branches(batch.all());
      for (const Repeat& repeat : batch.list) repeated += repeat.count;
    }
    void on_loss(const Loss&) override {}
  };
  const Code code = Code().at(0x1000).nop().jz(0x1000).jmp(0x1000);
  Trace trace;
  trace.psb(0x1000);
  for (int i = 0; i < kRounds; ++i) trace.tnt("TTTTTT").tnt("TNTTTN").tnt("T");
  Repeated sink;
  decode(trace.bytes(), code, {.trial_bytes = 0}, sink);
  EXPECT_EQ(sink.branches, 1 + kRounds * 13u);
  EXPECT_GT(sink.repeated, sink.branches - 60);
  EXPECT_LT(sink.repeated, sink.branches);
}

TEST(Remembered, ALoopOfLongTnts) {
  const Code code = Code().at(0x1000).nop().jz(0x1000).jmp(0x1000);
  Trace trace;
  trace.psb(0x1000);
  for (int i = 0; i < kRounds; ++i) trace.tnt(std::string(47, 'T')).tnt("NTNTNTNTNTN");
  expect_all_ways_the_same(code, trace, kRounds * 40);
}

//  1000 call rax; 1002 jz 1000; 1008 jmp 1000      2000, 3000: ret
TEST(Remembered, IndirectCallsWithTheirReturnsInTips) {
  const Code code =
      Code().at(0x1000).icall().jz(0x1000).jmp(0x1000).at(0x2000).ret().at(0x3000).ret();
  Trace trace;
  trace.psb(0x1000);
  for (int i = 0; i < kRounds; ++i) {
    trace.tip(0x2000).tip(0x1002).tnt("T").tip(0x3000).tip(0x1002).tnt("N");
  }
  expect_all_ways_the_same(code, trace, kRounds * 5);
}

// The same return, compressed, goes back to two callers in turn.
TEST(Remembered, CompressedReturnsToDifferentCallers) {
  const Code code =
      Code().at(0x1000).call(0x2000).call(0x2000).jz(0x1000).at(0x2000).jz(0x2006).ret();
  Trace trace;
  trace.psb(0x1000);
  for (int i = 0; i < 3 * kRounds; ++i) trace.tnt("TTTTT");
  expect_all_ways_the_same(code, trace, kRounds * 7);
}

// More calls than the return stack has entries: the oldest ones are forgotten, whatever way the
// path is followed, and a compressed return to them is an impossible one.
TEST(Remembered, CallsFallOffTheReturnStack) {
  const Code code = Code().at(0x1000).jz(0x2000).call(0x1000).ret().at(0x2000).ret();
  for (const int calls : {60, 63, 64, 65, 90}) {
    Trace trace;
    for (int round = 0; round < 4; ++round) {
      trace.psb(0x1000);
      for (int i = 0; i < calls; ++i) trace.tnt("N");
      trace.tnt("T");
      for (int i = 0; i < calls; ++i) trace.tnt("T");
    }
    const Decoded out = decode(code, trace);
    EXPECT_FALSE(out.losses.empty());  // nobody called the first one
  }
}

// At the bottom one more call and return, remembered as one path: they push the oldest entry off a
// full stack, and nothing off another.
TEST(Remembered, ACallThatReturnedPushedTheOldestOff) {
  const Code code = Code()
                        .at(0x1000)
                        .jz(0x2000)
                        .call(0x1000)
                        .ret()
                        .at(0x2000)
                        .call(0x3000)
                        .jz(0x200b)
                        .ret()
                        .at(0x3000)
                        .ret();
  for (const unsigned calls : {63u, 64u}) {
    Trace trace;
    for (int round = 0; round < 2; ++round) {
      trace.psb(0x1000);
      for (unsigned i = 0; i < calls; ++i) trace.tnt("N");
      trace.tnt("TTT");
      for (unsigned i = 0; i < calls; ++i) trace.tnt("T");
    }
    const Decoded out = decode(code, trace);
    // Where the last return is possible, the PSB of the next round is not where it leads.
    ASSERT_FALSE(out.losses.empty());
    EXPECT_EQ(out.losses[0].reason.find("compressed return") != std::string::npos, calls == 64);
  }
}

// With what both callers of the next two tests call.
Code with_loop(Code code) { return code.at(0x2000).call(0x3000).ret().at(0x3000).jz(0x3000).ret(); }

// 1000 jz 1100: callers of 2000 in turn, which calls the loop at 3000. The same bytes lead out of
// the loop, through 2005, to either caller.
TEST(Remembered, TheSameReturnsToAnotherCallersCaller) {
  const Code code = with_loop(
      Code().at(0x1000).jz(0x1100).call(0x2000).jmp(0x1000).at(0x1100).call(0x2000).jmp(0x1000));
  Trace trace;
  trace.psb(0x1000);
  for (int round = 0; round < 3 * kRounds; ++round) {
    trace.tnt(round % 3 == 2 ? "T" : "N");
    for (int i = 0; i < 45; ++i) trace.tnt("TTTTTT");
    trace.tnt("NTT");
  }
  expect_all_ways_the_same(code, trace, 3 * kRounds * 45 * 6);
}

// The same again, but nobody follows calls over the packet behind them: the innermost caller is the
// same each time, and the next one only the return stack knows.
TEST(Remembered, TheSameReturnsToCallersOfBefore) {
  const Code code = with_loop(
      Code().at(0x1000).jz(0x1100).call(0x2000).jz(0x1000).at(0x1100).call(0x2000).jz(0x1000));
  Trace trace;
  trace.psb(0x1000);
  for (int round = 0; round < 3 * kRounds; ++round) {
    trace.tnt(round % 3 == 2 ? "T" : "N").plain(pt::PacketType::cbr);
    for (int i = 0; i < 31; ++i) trace.tnt("TTTTTT");
    trace.tnt("NTTT");
  }
  expect_all_ways_the_same(code, trace, 3 * kRounds * 31 * 6);
}

TEST(Remembered, TracingThatStopsAndStarts) {
  const Code code = Code().at(0x1000).jz(0x1000).syscall();
  Trace trace;
  trace.psb(0x1000);
  for (int i = 0; i < kRounds; ++i) trace.tnt("TTN").pgd().raw({0, 0, 0}).pge(0x1000);
  expect_all_ways_the_same(code, trace, kRounds * 4);
}

// The same bytes of trace over code that changes: what was remembered of the old is of no account.
TEST(Remembered, CodeThatChanges) {
  const Code code = Code()
                        .at(0x1000)
                        .during(0, 100)
                        .jz(0x1000)
                        .jmp(0x1000)
                        .at(0x1000)
                        .during(100, ~std::uint64_t{0})
                        .nop()
                        .jz(0x1001)
                        .jmp(0x1000);
  Trace trace;
  trace.psb(0x1000, Trace::kExec64, 50);
  for (int i = 0; i < kRounds; ++i) trace.tnt("TTTTTN");
  trace.tnt("T").plain(pt::PacketType::tsc, 150);
  for (int i = 0; i < kRounds; ++i) trace.tnt("TTTTTN");
  const Decoded out = decode(code, trace);
  ASSERT_TRUE(out.losses.empty()) << out.losses[0].reason;
  EXPECT_EQ(out.text()[1], "cond 1000>1000");
  EXPECT_EQ(out.text().back(), "cond 1001>1001");
}

TEST(Remembered, MorePathsThanAreKept) {
  // More than 2^18 different targets of indirect jumps, each of them twice.
  struct Everywhere final : image::CodeSource {
    image::CodeSpan find(std::uint64_t address, std::uint64_t) const override {
      static constexpr std::uint8_t kJump[] = {0xff, 0xe0};
      return {.content = 1, .address = address & ~std::uint64_t{1}, .bytes = kJump};
    }
  } everywhere;
  Trace trace;
  trace.psb(0x100000);
  constexpr std::uint64_t kTargets = (1 << 18) + 1000;
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t i = 0; i < kTargets; ++i) trace.tip(0x100000 + 2 * i);
  }
  struct Counting final : EdgeSink {
    void on_edges(std::span<const EdgeCount> edges) override {
      for (const EdgeCount& edge : edges) count += edge.count;
    }
    std::uint64_t count = 0;
  } counting;
  const Piece piece{.bytes = trace.bytes()};
  const Stats stats = Decoder(everywhere, {}).cover(std::span(&piece, 1), counting);
  EXPECT_EQ(stats.total_losses(), 0u);
  EXPECT_EQ(stats.branches[static_cast<int>(BranchKind::ijmp)], 2 * kTargets);
  EXPECT_EQ(counting.count, 2 * kTargets + 1);  // and the beginning
}

// PSBs and interrupts inside a straight line, behind a jump and a call: the way to their FUP.
//  1000 jz 1000; 1006 jmp 1010; 1010 call 1020; 1015 jmp 1000      1020 nop; nop; nop; ret
TEST(Remembered, WaysToAnInstructionThatAFupNames) {
  const Code code = Code()
                        .at(0x1000)
                        .jz(0x1000)
                        .jmp(0x1010)
                        .at(0x1010)
                        .call(0x1020)
                        .jmp(0x1000)
                        .at(0x1020)
                        .nop()
                        .nop()
                        .nop()
                        .ret()
                        .at(0x5000)
                        .iret();
  Trace trace;
  trace.psb(0x1000);
  for (int i = 0; i < kRounds; ++i) {
    trace.tnt("N").psb(0x1021).tip(0x1015).tnt("TN").fup(0x1022).tip(0x5000).tip(0x1022);
    trace.tnt("TN").psb(0x1023).tip(0x1015);
  }
  expect_all_ways_the_same(code, trace, kRounds * 12);
}

// The decoder reads a PSB+ of usual length once; this one it reads packet by packet.
TEST(Remembered, PsbPlusLongerThanAnyProcessors) {
  const Code code = Code().at(0x1000).jz(0x1000).jmp(0x1000);
  for (int more = 10; more < 20; ++more) {
    Trace trace;
    for (int i = 0; i < 2; ++i) {
      trace.plain(pt::PacketType::psb);
      for (int j = 0; j < more; ++j) trace.plain(pt::PacketType::pip, 0x7000).raw({0});
      trace.fup(0x1000).plain(pt::PacketType::psbend).tnt("TT");
    }
    const Decoded out = decode(code, trace);
    EXPECT_TRUE(out.losses.empty());
    EXPECT_EQ(out.branches.size(), 5u);
    EXPECT_EQ(out.events.size(), 2u * static_cast<unsigned>(more));
    EXPECT_EQ(out.stats.packets[static_cast<std::size_t>(pt::PacketType::pad)],
              2u * static_cast<unsigned>(more));
  }
}

}  // namespace
}  // namespace hodo::flow
