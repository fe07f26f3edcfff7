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

// As a generator makes it, piece by piece; what leads to a piece stays, or goes later.
TEST(Steps, ALongTraceOverPiecesOfCodeThatChangeInTurn) {
  constexpr std::uint64_t kPeriods = 40;
  constexpr std::uint64_t kPeriod = 100;
  Code code = code_of_branches();
  for (std::uint64_t i = 0; i < kPeriods; ++i) {
    const std::uint64_t from = i * kPeriod;
    const auto mapped = [&](std::uint64_t address, std::uint64_t late) {
      code.at(address).during(from + late, from + late + kPeriod);
      if (i % 2 == 0) code.nop();
    };
    mapped(0x2000, 0);
    code.jz(0x1000).jz(0x1006).jmp(0x1000);
    mapped(0x3000, 30);
    code.jz(0x3000).ret();
  }
  Trace trace;
  Wanderer wanderer;
  for (std::uint64_t time = 35; time + 30 < kPeriods * kPeriod; time += 30) {
    add_rows(trace, wanderer, 30, time);
  }
  const Decoded out = decode(code, trace, {});
  EXPECT_TRUE(out.losses.empty()) << out.losses[0].reason;
  EXPECT_GT(std::ranges::count(out.branches, 0x2001, &Branch::from), 0);
  EXPECT_GT(std::ranges::count(out.branches, 0x2000, &Branch::from), 0);
}

// Says of returns that they hang on their ends alone, and keeps which it was asked about.
struct Apart final : Decoded {
  struct Asked {
    std::uint64_t time = 0;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    bool operator==(const Asked&) const = default;
  };
  std::vector<Asked> asked;
  std::size_t returns = 0;  // in passages

  bool wants_passages() const override { return true; }
  Judged judged(const Branch& branch, std::uint64_t) override {
    if (branch.kind != BranchKind::ret) return Judged::passes;
    asked.push_back({branch.time, branch.from, branch.to});
    return Judged::passes_apart;
  }
  void on_passages(const Passages& batch) override {
    std::size_t entry = 0;
    for (const Passage& passage : batch.list) {
      std::vector<Branch> row;
      batch.append(passage, entry, row);
      entry += passage.entries;
      returns += static_cast<std::size_t>(std::ranges::count(row, BranchKind::ret, &Branch::kind));
    }
  }
};

// Two functions return to behind either of two calls.
//
//  1000 call rax; 1002 jmp 2000     2000 call rax; 2002 jmp 1000     3000 ret     3100 ret
TEST(Steps, AReturnIsAskedAboutAnewWhereTheCodeAtOneOfItsEndsIsMappedAnew) {
  constexpr std::uint64_t kEver = ~std::uint64_t{0};
  Code code;
  code.at(0x1000).icall().at(0x2000).icall().jmp(0x1000).at(0x3100).ret();
  code.at(0x1002).during(0, 100).jmp(0x2000).at(0x1002).during(100, kEver).jmp(0x2000);
  code.at(0x3000).during(0, 200).ret().at(0x3000).during(200, kEver).ret();
  constexpr std::size_t kRounds = 20;
  Trace trace;
  for (const std::uint64_t time : {50, 150, 250}) {
    trace.psb(0x1000, Trace::kExec64, time);
    for (std::size_t i = 0; i < kRounds; ++i) {
      for (const std::uint64_t to : {0x3000, 0x3100, 0x3100, 0x3000}) trace.tip(to).tnt("T");
    }
  }
  EXPECT_TRUE(decode(code, trace).losses.empty());
  Apart sink;
  flow::decode(trace.bytes(), code, {}, sink);
  EXPECT_EQ(sink.returns, 3 * 4 * kRounds);
  const std::vector<Apart::Asked> once = {
      {50, 0x3000, 0x1002}, {50, 0x3100, 0x2002}, {150, 0x3000, 0x1002}, {250, 0x3000, 0x1002}};
  EXPECT_EQ(sink.asked, once);
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
