// LBR stacks of every processor: depth, order, filters, call-stack mode.
#include "hodo/unit/lbr_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "hodo/hw/msr.h"
#include "rig.h"

namespace hodo::unit {
namespace {

using hw::BranchClass;
using hw::LbrFormat;
using hw::Signature;
using hw::Vendor;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Signature kSkylake{Vendor::intel, 6, 0x5e, 3};
constexpr Signature kHaswell{Vendor::intel, 6, 0x3c, 3};
constexpr Signature kMerom{Vendor::intel, 6, 0x0f, 6};

LbrUnit on(const hw::LbrLayout& layout) {
  LbrUnit unit;
  unit.configure(layout);
  unit.enable(true);
  return unit;
}
LbrUnit on(const Signature& processor) { return on(*hw::lbr_layout(processor)); }

std::vector<std::uint64_t> froms(const LbrUnit& unit) {
  std::array<hw::LbrRegisters, 64> records;
  std::vector<std::uint64_t> out;
  const std::size_t n = unit.newest_first(records);
  for (std::size_t i = 0; i < n; ++i) {
    out.push_back(hw::decode_lbr(records[i], unit.layout().format)->from);
  }
  return out;
}

TEST(LbrUnit, CountsTosUpAndWraps) {
  LbrUnit unit = on(kMerom);
  for (std::uint64_t n = 1; n <= 6; ++n) {
    unit.branch({.from = n, .to = 0x100 + n, .cls = BranchClass::rel_jmp});
  }
  // Records 1 to 6 went to registers 1 2 3 0 1 2.
  EXPECT_EQ(unit.tos(), 2);
  EXPECT_EQ(unit.record(0).from, 4);
  EXPECT_EQ(unit.record(1).from, 5);
  EXPECT_EQ(unit.record(2).from, 6);
  EXPECT_EQ(unit.record(3).from, 3);
  EXPECT_THAT(froms(unit), ElementsAre(6, 5, 4, 3));
}

TEST(LbrUnit, ArchitecturalStackHasTheNewestInRecord0) {
  LbrUnit unit = on(hw::arch_lbr_layout(24, true));
  for (std::uint64_t n = 1; n <= 30; ++n) {
    unit.branch({.from = n, .to = 0x100 + n, .cls = BranchClass::rel_jmp});
  }
  EXPECT_EQ(unit.record(0).from, 30);
  EXPECT_EQ(unit.record(23).from, 7);
  EXPECT_EQ(froms(unit).size(), 24);
}

TEST(LbrUnit, SmallerDepthEmptiesTheStack) {
  LbrUnit unit = on(hw::arch_lbr_layout(32, true));
  unit.branch({.from = 1, .to = 2, .cls = BranchClass::cond});
  unit.set_depth(8);
  EXPECT_THAT(froms(unit), IsEmpty());
  for (std::uint64_t n = 1; n <= 9; ++n) {
    unit.branch({.from = n, .to = n, .cls = BranchClass::cond});
  }
  EXPECT_EQ(froms(unit).size(), 8);
}

// Every stack of the table against a plain list, newest first.
TEST(LbrUnit, KeepsTheNewestOfRandomBranchesInEveryLayout) {
  std::vector<hw::LbrLayout> layouts = {hw::amd_lbr_layout(16)};
  for (unsigned depth = 8; depth <= 64; depth += 8) {
    layouts.push_back(hw::arch_lbr_layout(depth, false));
  }
  for (unsigned model = 0; model < 256; ++model) {
    for (const int family : {6, 15}) {
      const auto layout = hw::lbr_layout({Vendor::intel, static_cast<std::uint16_t>(family),
                                          static_cast<std::uint16_t>(model), 15});
      if (layout) layouts.push_back(*layout);
    }
  }
  ASSERT_GT(layouts.size(), 60);
  std::mt19937_64 random(7);
  for (const hw::LbrLayout& layout : layouts) {
    LbrUnit unit = on(layout);
    std::deque<std::uint64_t> expected;
    const unsigned branches = static_cast<unsigned>(random() % 200);
    for (unsigned n = 0; n < branches; ++n) {
      const std::uint64_t from = 0x400000 + random() % 0x10000;
      unit.branch({.from = from, .to = from + 5, .cls = BranchClass::cond});
      expected.push_front(from);
      if (expected.size() > layout.depth) expected.pop_back();
    }
    EXPECT_THAT(froms(unit), ::testing::ElementsAreArray(expected)) << unsigned{layout.depth};
  }
}

// Both ways in write the same registers.
TEST(LbrUnit, TakeWritesWhatBranchWrites) {
  for (const hw::LbrLayout& layout :
       {*hw::lbr_layout(kSkylake), *hw::lbr_layout(kHaswell), *hw::lbr_layout(kMerom),
        *hw::lbr_layout({Vendor::intel, 6, 0x5c, 0}), *hw::lbr_layout({Vendor::intel, 6, 0x0d, 0}),
        hw::arch_lbr_layout(32, true), hw::amd_lbr_layout(16)}) {
    // The vsyscall page is user code at the top of the address space: flags must not be seen there.
    for (const std::uint64_t start : {0x401000ULL, 0xffffffffff600000ULL}) {
      const Block block = jmp(start, 0xffffffffff600400ULL);
      LbrUnit taken = on(layout);
      LbrUnit branched = on(layout);
      taken.take(block, block.taken, 1);
      branched.branch({.from = block.source(),
                       .to = block.taken,
                       .cls = BranchClass::rel_jmp,
                       .insns = block.insns});
      std::array<hw::LbrRegisters, 1> a, b;
      ASSERT_EQ(taken.newest_first(a), 1);
      ASSERT_EQ(branched.newest_first(b), 1);
      EXPECT_EQ(a, b) << name(layout.format);
      EXPECT_FALSE(hw::decode_lbr(a[0], layout.format)->mispredicted);
    }
  }
}

TEST(LbrUnit, CountsInstructionsAsCyclesAndSaturates) {
  LbrUnit unit = on(kSkylake);
  Block plain = other(0x400ff0);
  plain.insns = 40000;
  const Block jump = jmp(0x401000, 0x402000);
  unit.take(plain, plain.end(), 1);
  unit.take(jump, 0x402000, 1);
  EXPECT_EQ(unit.record(unit.tos()).info, 40000 + jump.insns);
  unit.take(plain, plain.end(), 1);
  unit.take(plain, plain.end(), 1);
  unit.take(jump, 0x402000, 1);
  EXPECT_EQ(unit.record(unit.tos()).info, 0xffff);
  unit.take(jump, 0x402000, 1);
  EXPECT_EQ(unit.record(unit.tos()).info, jump.insns);
}

TEST(LbrUnit, FreezesAndThaws) {
  LbrUnit unit = on(kSkylake);
  unit.branch({.from = 1, .to = 2});
  unit.enable(false);
  unit.branch({.from = 3, .to = 4});
  const Block jump = jmp(0x401000, 0x402000);
  unit.take(jump, 0x402000, 1);
  unit.enable(true);
  unit.branch({.from = 5, .to = 6});
  EXPECT_THAT(froms(unit), ElementsAre(5, 1));
}

// One branch of each class by both ways in; LBR_SELECT suppresses, IA32_LBR_CTL captures.
class Filters
    : public ::testing::TestWithParam<std::tuple<std::uint64_t, std::uint64_t, BranchClass>> {};

std::vector<BranchClass> classes_recorded(LbrUnit& unit) {
  constexpr BranchClass kAll[] = {
      BranchClass::cond,     BranchClass::ind_jmp, BranchClass::rel_jmp, BranchClass::ind_call,
      BranchClass::rel_call, BranchClass::ret,     BranchClass::other};
  for (const BranchClass cls : kAll) {
    unit.branch({.from = 0x1000 + static_cast<unsigned>(cls), .to = 1, .cls = cls});
  }
  std::vector<BranchClass> out;
  for (const std::uint64_t from : froms(unit))
    out.push_back(static_cast<BranchClass>(from - 0x1000));
  return out;
}

TEST_P(Filters, OneBitIsOneClass) {
  const auto [suppress, capture, cls] = GetParam();
  LbrUnit legacy = on(kSkylake);
  legacy.select(suppress);
  const auto left = classes_recorded(legacy);
  EXPECT_EQ(left.size(), 6);
  EXPECT_THAT(left, ::testing::Not(::testing::Contains(cls)));

  LbrUnit arch = on(hw::arch_lbr_layout(32, true));
  arch.select(capture | hw::arch_lbr_ctl::kUsr);
  EXPECT_THAT(classes_recorded(arch), ElementsAre(cls));
}
// Second source: LBR_*_BIT and ARCH_LBR_*_BIT in Linux arch/x86/events/intel/lbr.c.
INSTANTIATE_TEST_SUITE_P(EveryClass, Filters,
                         ::testing::Values(std::tuple{1ull << 2, 1ull << 16, BranchClass::cond},
                                           std::tuple{1ull << 3, 1ull << 19, BranchClass::rel_call},
                                           std::tuple{1ull << 4, 1ull << 20, BranchClass::ind_call},
                                           std::tuple{1ull << 5, 1ull << 21, BranchClass::ret},
                                           std::tuple{1ull << 6, 1ull << 18, BranchClass::ind_jmp},
                                           std::tuple{1ull << 7, 1ull << 17, BranchClass::rel_jmp},
                                           std::tuple{1ull << 8, 1ull << 22, BranchClass::other}));

TEST(LbrUnit, FiltersByTheLevelWhereTheBranchEnds) {
  const ExecutedBranch into_os{.from = 1, .to = 2, .from_cpl = 3, .to_cpl = 0};
  const ExecutedBranch to_user{.from = 3, .to = 4, .from_cpl = 0, .to_cpl = 3};
  LbrUnit unit = on(kSkylake);
  unit.select(hw::lbr_select::kCplEq0);
  unit.branch(into_os);
  unit.branch(to_user);
  EXPECT_THAT(froms(unit), ElementsAre(3));
  unit.clear();
  unit.select(hw::lbr_select::kCplNeq0);
  unit.branch(into_os);
  unit.branch(to_user);
  const Block jump = jmp(0x401000, 0x402000);
  unit.take(jump, 0x402000, 1);
  EXPECT_THAT(froms(unit), ElementsAre(1));
}

TEST(LbrUnit, StackWithoutFilterRecordsAll) {
  LbrUnit unit = on(kMerom);
  unit.select(~0ull);
  unit.branch({.from = 1, .to = 2});
  EXPECT_THAT(froms(unit), ElementsAre(1));
}

constexpr std::uint64_t kCallStack = hw::lbr_select::kEnCallstack | hw::lbr_select::kJcc |
                                     hw::lbr_select::kNearIndJmp | hw::lbr_select::kNearRelJmp |
                                     hw::lbr_select::kFarBranch;

TEST(LbrUnit, CallStackModePushesCallsAndPopsReturns) {
  LbrUnit unit = on(kHaswell);
  unit.select(kCallStack);
  const Block outer = call(0x401000, 0x402000);
  const Block inner = call(0x402000, 0x403000);
  const Block jump = jmp(0x403000, 0x403100);
  unit.take(outer, 0x402000, 1);
  unit.take(inner, 0x403000, 1);
  unit.take(jump, 0x403100, 1);
  EXPECT_THAT(froms(unit), ElementsAre(inner.source(), outer.source()));
  unit.branch({.from = 0x403108, .to = inner.end(), .cls = BranchClass::ret});
  EXPECT_THAT(froms(unit), ElementsAre(outer.source()));
}

// Random calls and returns against a list of open calls.
TEST(LbrUnit, CallStackModeHoldsTheInnermostOpenCalls) {
  for (const hw::LbrLayout& layout :
       {*hw::lbr_layout(kHaswell), *hw::lbr_layout(kSkylake), hw::arch_lbr_layout(8, true),
        hw::arch_lbr_layout(24, true), hw::arch_lbr_layout(64, true)}) {
    LbrUnit unit = on(layout);
    const bool arch = layout.format == LbrFormat::arch;
    unit.select(arch ? hw::arch_lbr_ctl::kCallStack | hw::arch_lbr_ctl::kUsr |
                           hw::arch_lbr_ctl::kNearRelCall | hw::arch_lbr_ctl::kNearRet
                     : kCallStack);
    std::mt19937_64 random(layout.depth);
    std::deque<std::uint64_t> open;
    for (unsigned n = 1; n < 5000; ++n) {
      if (random() % 16 < 8) {
        unit.branch({.from = n, .to = n + 1, .cls = BranchClass::rel_call});
        open.push_front(n);
        if (open.size() > layout.depth) open.pop_back();
      } else {
        unit.branch({.from = n, .to = n + 1, .cls = BranchClass::ret});
        if (!open.empty()) open.pop_front();
      }
      ASSERT_THAT(froms(unit), ::testing::ElementsAreArray(open)) << "after branch " << n;
    }
  }
}

// Into the kernel: no record. From there: one, where the code does not say that it goes on there.
TEST(LbrUnit, RecordsWhereTheKernelSendsTheProgram) {
  LbrUnit unit = on(kSkylake);
  unit.branch({.from = 1, .to = 0, .to_cpl = 0});
  unit.branch({.from = 0, .to = 3, .from_cpl = 0, .resumes = true});
  unit.branch({.from = 0, .to = 5});  // a jump that nothing explains
  EXPECT_THAT(froms(unit), IsEmpty());
  unit.branch({.from = 0, .to = 7, .from_cpl = 0});
  EXPECT_THAT(froms(unit), ElementsAre(0));
  EXPECT_EQ(unit.record(unit.tos()).to, 7);
}

TEST(LbrUnit, KeepsTheBranchBeforeAnInterrupt) {
  LbrUnit unit = on(*hw::lbr_layout({Vendor::intel, 6, 0x08, 6}));
  unit.branch({.from = 1, .to = 2});
  unit.branch({.from = 5, .to = 6, .to_cpl = 0, .event = true});
  EXPECT_EQ(unit.last_interrupt().from, 1);
  EXPECT_EQ(unit.last_interrupt().to, 2);
  EXPECT_THAT(froms(unit), ElementsAre(5));
}

// The counter calls back once, with the branch that overflowed it in the stack.
TEST(LbrUnit, CounterOverflowsAfterThatManyBranches) {
  for (const bool calls : {false, true}) {
    LbrUnit unit = on(kHaswell);
    if (calls) unit.select(kCallStack);
    struct Seen {
      LbrUnit& unit;
      std::vector<std::vector<std::uint64_t>> stacks;
    } seen{unit, {}};
    const auto overflow = [](void* owner) {
      auto& to = *static_cast<Seen*>(owner);
      to.stacks.push_back(froms(to.unit));
    };
    const Block a = call(0x401000, 0x402000);
    const Block b = call(0x402000, 0x401000);
    const Block plain = other(0x405000);
    unit.count_down(3, overflow, &seen);
    unit.take(a, 0x402000, 1);
    unit.take(plain, plain.end(), 1);
    unit.branch({.from = 0x402100, .to = 0x402000, .cls = BranchClass::ind_call});
    EXPECT_TRUE(seen.stacks.empty());
    unit.take(b, 0x401000, 1);
    unit.take(a, 0x402000, 1);
    ASSERT_EQ(seen.stacks.size(), 1);
    EXPECT_THAT(seen.stacks[0], ElementsAre(b.source(), 0x402100, a.source()));
  }
}

}  // namespace
}  // namespace hodo::unit
