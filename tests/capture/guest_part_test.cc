#include "vm/guest_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guest_trace.h"

namespace hodo::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Type = pt::PacketType;

constexpr std::uint64_t kCr3 = 0x5000, kOther = 0x9000;

struct Read {
  std::vector<std::string> lines;
  std::vector<GuestPart::Switch> switches;
  GuestPart::Counts counts;
};

Read guest_part_of(const GuestTrace& trace, std::size_t step = ~std::size_t{0}) {
  GuestPart part{flow::Config()};
  std::vector<std::uint8_t> out;
  std::span<const std::uint8_t> rest = trace.bytes;
  while (!rest.empty()) {
    const std::size_t size = std::min(step, rest.size());
    part.feed(rest.first(size), out);
    rest = rest.subspan(size);
  }
  return {lines_of(out), part.take_switches(), part.counts()};
}

TEST(GuestPart, AnExitClosesItAndAnEntryOpensIt) {
  GuestTrace trace;
  trace.psb(100, kCr3, true, 0x401000).tnt(0b10, 2).exit(0x401010);
  trace.tnt(0b1, 1).ip(Type::tip, GuestTrace::kHandler + 0x40);  // the host's
  trace.entry(0x401010, kCr3).tnt(0b1, 1);
  const Read read = guest_part_of(trace);
  EXPECT_THAT(read.lines,
              ElementsAre("PSB", "TSC 0x64", "MODE.Exec IF:0 64", "PIP 0x280 (NR=0)",
                          "FUP 0x401000", "PSBEND", "TNT TN (2)", "FUP 0x401010", "TIP.PGD no ip",
                          "PIP 0x280 (NR=0)", "TIP.PGE 0x401010", "TNT T (1)"));
  EXPECT_EQ(read.counts.entries, 1u);
  EXPECT_EQ(read.counts.gaps, 0u);
}

TEST(GuestPart, BytesMayComeInAnyPieces) {
  GuestTrace trace;
  trace.psb(100, kCr3, true, 0x401000).tnt(0b10, 2).exit(0x401010).entry(0x402000, kOther);
  trace.ip(Type::tip, 0x403000);
  const auto whole = guest_part_of(trace).lines;
  for (std::size_t step = 1; step < 40; ++step) {
    EXPECT_EQ(guest_part_of(trace, step).lines, whole) << step << " bytes at a time";
  }
}

TEST(GuestPart, SwitchesSayWhenWhichAddressSpaceRuns) {
  GuestTrace trace;
  trace.psb(100, kCr3, true, 0x401000).tsc(200).pip(kCr3, true).tsc(300).pip(kOther, true);
  // The host's clock is ahead.
  trace.exit(0xffff'ffff'8100'0000).tsc(900'000).entry(0xffff'ffff'8100'0000, kOther);
  trace.tsc(400).pip(kCr3, true);
  const Read read = guest_part_of(trace);
  ASSERT_EQ(read.switches.size(), 3u);
  EXPECT_EQ(read.switches[0].time, 100u);
  EXPECT_EQ(read.switches[0].cr3, kCr3);
  EXPECT_EQ(read.switches[1].time, 300u);
  EXPECT_EQ(read.switches[1].cr3, kOther);
  EXPECT_EQ(read.switches[2].time, 400u);
}

// Of a host's PSB+ the frame stays. Its TSC is not the guest's.
TEST(GuestPart, AHostsHeaderIsOneOfAStreamThatIsOff) {
  GuestTrace trace;
  trace.psb(100, GuestTrace::kHostCr3, false, GuestTrace::kHandler).tnt(0b1, 1);
  trace.entry(0x401000, kCr3);
  EXPECT_THAT(guest_part_of(trace).lines, ElementsAre("PSB", "PSBEND", "PIP 0x280 (NR=0)",
                                                      "MODE.Exec IF:0 64", "TIP.PGE 0x401000"));
}

// The host runs in 64-bit mode, and so does the process that the guest goes on with: nothing tells
// so at the entry, but the exit from 32-bit code did.
TEST(GuestPart, AModeThatChangedInTheHostIsToldAtTheEntry) {
  GuestTrace trace;
  trace.psb(100, kCr3, true, 0x401000).mode(2).ip(Type::tip, 0x8048000);
  trace.ip(Type::fup, 0x8048010).pip(GuestTrace::kHostCr3, false).mode(1);
  trace.ip(Type::tip, GuestTrace::kHandler).entry(0x402000, kCr3);
  EXPECT_THAT(
      guest_part_of(trace).lines,
      ElementsAre("PSB", "TSC 0x64", "MODE.Exec IF:0 64", "PIP 0x280 (NR=0)", "FUP 0x401000",
                  "PSBEND", "MODE.Exec IF:0 32", "TIP 0x8048000", "FUP 0x8048010", "TIP.PGD no ip",
                  "PIP 0x280 (NR=0)", "MODE.Exec IF:0 64", "TIP.PGE 0x402000"));
}

TEST(GuestPart, CyclesOfTheHostAreOnePacket) {
  GuestTrace trace;
  trace.psb(100, kCr3, true, 0x401000).exit(0x401010).cyc(30).tnt(0b1, 1).cyc(12);
  trace.entry(0x401010, kCr3).cyc(5);
  const auto lines = guest_part_of(trace).lines;
  EXPECT_THAT(std::vector(lines.begin() + 8, lines.end()),
              ElementsAre("CYC 0x2a", "PIP 0x280 (NR=0)", "TIP.PGE 0x401010", "CYC 0x5"));
}

TEST(GuestPart, AnOverflowHidesWhoRuns) {
  GuestTrace trace;
  trace.psb(100, kCr3, true, 0x401000).other(Type::ovf).ip(Type::fup, 0x401020).tnt(0b1, 1);
  trace.pip(kOther, true).tnt(0b11, 2).ip(Type::tip, 0x402000);
  const Read read = guest_part_of(trace);
  EXPECT_THAT(std::vector(read.lines.begin() + 6, read.lines.end()),
              ElementsAre("OVF", "PIP 0x480 (NR=0)", "TIP.PGE 0x402000"));
  EXPECT_EQ(read.counts.gaps, 1u);
}

TEST(GuestPart, MissingBytesAreAnOverflow) {
  GuestTrace trace, rest;
  trace.psb(100, kCr3, true, 0x401000).tnt(0b1, 1);
  rest.tnt(0b1, 1).ip(Type::tip, 0x401020).psb(200, kCr3, true, 0x401030).tnt(0b1, 1);
  GuestPart part{flow::Config()};
  std::vector<std::uint8_t> out;
  part.feed(std::span(trace.bytes).first(trace.bytes.size() - 1), out);  // in a PSB+'s last packet
  part.feed(std::span(trace.bytes).last(1), out);
  part.gap(out);
  part.feed(rest.bytes, out);
  const auto lines = lines_of(out);
  EXPECT_THAT(std::vector(lines.begin() + 6, lines.end()),
              ElementsAre("TNT T (1)", "OVF", "PSB", "TSC 0xc8", "MODE.Exec IF:0 64",
                          "PIP 0x280 (NR=0)", "FUP 0x401030", "PSBEND", "TNT T (1)"));
}

TEST(GuestPart, WhatIsNoPacketIsCountedUpToTheNextPsb) {
  GuestTrace trace;
  trace.psb(100, kCr3, true, 0x401000);
  trace.bytes.insert(trace.bytes.end(), {0x02, 0xff, 0x11});
  trace.psb(200, kCr3, true, 0x401030);
  const Read read = guest_part_of(trace);
  EXPECT_EQ(read.counts.damaged_bytes, 3u);
  EXPECT_EQ(read.counts.gaps, 1u);
  EXPECT_EQ(read.lines.size(), 6u + 1 + 6);
}

TEST(GuestPart, AHostThatNeverEntersHasNone) {
  GuestTrace trace;
  trace.tnt(0b1, 1).ip(Type::tip, GuestTrace::kHandler).pip(GuestTrace::kHostCr3, false);
  const Read read = guest_part_of(trace);
  EXPECT_THAT(read.lines, IsEmpty());
  EXPECT_EQ(read.counts.entries, 0u);
}

}  // namespace
}  // namespace hodo::capture
