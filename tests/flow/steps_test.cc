// Traces so long that they are followed by steps and supersteps. Every decode() here also compares
// that with walking.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "fixture.h"

namespace hodo::flow {
namespace {

constexpr int kRows = 12'000;  // of outcomes: some more than it takes until supersteps are tried
constexpr std::size_t kOutcomes = 40;

//  1000 jz 2000; 1006 jz 1000; 100c call 3000; 1011 jmp 1000
//  2000 jz 1000; 2006 jz 1006; 200c jmp 1000       3000 jz 3000; 3006 ret
Code code_of_branches() {
  return Code()
      .at(0x1000)
      .jz(0x2000)
      .jz(0x1000)
      .call(0x3000)
      .jmp(0x1000)
      .at(0x3000)
      .jz(0x3000)
      .ret();
}

// Takes all of them in no order that comes again.
class Wanderer {
 public:
  std::string row() {
    std::string out;
    while (out.size() < kOutcomes || at_ != 0x1000) out += step();
    return out;
  }

 private:
  std::string step() {
    const bool taken = random_() % 4 == 0;
    const std::string outcome = taken ? "T" : "N";
    switch (at_) {
      case 0x1000:
        at_ = taken ? 0x2000 : 0x1006;
        return outcome;
      case 0x1006:
        at_ = taken ? 0x1000 : 0x3000;
        return outcome;
      case 0x2000:
        at_ = taken ? 0x1000 : 0x2006;
        return outcome;
      case 0x2006:
        at_ = taken ? 0x1006 : 0x1000;
        return outcome;
      default:  // 3000, and its return
        at_ = taken ? 0x3000 : 0x1000;
        return taken ? outcome : outcome + "T";
    }
  }
  std::mt19937 random_{18};
  int at_ = 0x1000;
};

void add_rows(Trace& trace, Wanderer& wanderer, int rows, std::uint64_t time) {
  constexpr int kRowsOfSegment = 500;
  constexpr std::size_t kMostInPacket = 47;
  for (int i = 0; i < rows; ++i) {
    if (i % kRowsOfSegment == 0) trace.psb(0x1000, Trace::kExec64, time);
    const std::string row = wanderer.row();
    for (std::size_t at = 0; at < row.size(); at += kMostInPacket) {
      trace.tnt(row.substr(at, kMostInPacket));
    }
  }
}

TEST(Steps, ALongTraceOfManyPaths) {
  Trace trace;
  Wanderer wanderer;
  add_rows(trace, wanderer, kRows, 50);
  const Decoded out =
      decode(code_of_branches().at(0x2000).jz(0x1000).jz(0x1006).jmp(0x1000), trace, {});
  EXPECT_TRUE(out.losses.empty()) << out.losses[0].reason;
  EXPECT_GT(out.stats.tnt_bits, kRows * kOutcomes);
}

// Steps and supersteps that led over the code from before are of no account.
TEST(Steps, ALongTraceOverCodeThatChanges) {
  Trace trace;
  Wanderer wanderer;
  add_rows(trace, wanderer, kRows, 50);
  add_rows(trace, wanderer, kRows / 4, 150);
  const Decoded out = decode(code_of_branches()
                                 .at(0x2000)
                                 .during(0, 100)
                                 .jz(0x1000)
                                 .jz(0x1006)
                                 .jmp(0x1000)
                                 .at(0x2000)
                                 .during(100, ~std::uint64_t{0})
                                 .nop()
                                 .jz(0x1000)
                                 .jz(0x1006)
                                 .jmp(0x1000),
                             trace, {});
  EXPECT_TRUE(out.losses.empty()) << out.losses[0].reason;
  const auto entered = std::ranges::count_if(
      out.branches, [](const Branch& branch) { return branch.from == 0x2001; });
  EXPECT_GT(entered, 0);
}

// So many paths that remembering is given up: from there on branches come from steps.
//
//  0 jz 4; 2 nop; 3 nop; 4 call c; 9 jmp rax; b nop; c ret      in every sixteen bytes
TEST(Steps, BranchesWhereThereAreTooManyPathsToRemember) {
  struct Everywhere final : image::CodeSource {
    image::CodeSpan find(std::uint64_t address, std::uint64_t) const override {
      static constexpr std::uint8_t kCell[] = {0x74, 0x02, 0x90, 0x90, 0xe8, 0x03, 0x00, 0x00,
                                               0x00, 0xff, 0xe0, 0x90, 0xc3, 0x90, 0x90, 0x90};
      return {.content = 1, .address = address & ~std::uint64_t{15}, .bytes = kCell};
    }
  } everywhere;
  constexpr std::uint64_t kCells = (1 << 17) + 20'000;  // each has two paths
  Trace trace;
  trace.psb(0x100000);
  for (std::uint64_t i = 1; i <= kCells; ++i) {
    trace.tnt(i % 3 == 0 ? "TT" : "NT").tip(0x100000 + 16 * (i % (kCells / 3)) * (1 + i % 3));
  }
  for (const bool not_taken : {false, true}) {
    Config config{.want_not_taken = not_taken};
    Decoded quick;
    quick.stats = flow::decode(trace.bytes(), everywhere, config, quick);
    config.want_instructions = true;
    Decoded walked;
    walked.stats = flow::decode(trace.bytes(), everywhere, config, walked);
    EXPECT_EQ(quick.stats.instructions, walked.stats.instructions);
    EXPECT_EQ(quick.stats.branches, walked.stats.branches);
    EXPECT_EQ(quick.stats.not_taken, walked.stats.not_taken);
    EXPECT_EQ(quick.text(), walked.text());
    const auto insns = [](const Decoded& of) {
      std::vector<std::uint32_t> out;
      for (const Branch& branch : of.branches) out.push_back(branch.insns);
      return out;
    };
    EXPECT_EQ(insns(quick), insns(walked));
  }
}

}  // namespace
}  // namespace hodo::flow
