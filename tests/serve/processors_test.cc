// Who ran on a processor: turns, and what becomes of too many.
#include "processors.h"

#include <gtest/gtest.h>

namespace hodo::serve {
namespace {

// The branches of threads as they come, with what their clocks say.
class Machine {
 public:
  explicit Machine(std::size_t most = Processor::kMostTurns) : builder_(most) {}

  void ran(std::int32_t cpu, std::uint32_t lane, std::uint64_t insns, std::uint64_t time,
           BranchKind kind = BranchKind::jmp) {
    analyze::CallClock& clock = clocks_[lane];
    ++clock.branches;
    clock.instructions += insns;
    builder_.branch(cpu, lane, {.insns = static_cast<std::uint32_t>(insns), .kind = kind}, clock,
                    time);
  }
  std::vector<Processor> take() { return builder_.take(); }

 private:
  ProcessorBuilder builder_;
  std::map<std::uint32_t, analyze::CallClock> clocks_;
};

// Thread 0 begins on the second processor and goes on on the first, where thread 1 was:
//
//   processor 1  [0 0]
//   processor 0       [1 1] [0]
TEST(Processors, ATurnEndsWhenAnotherThreadRuns) {
  Machine machine;
  machine.ran(1, 0, 0, 10, BranchKind::begin);
  machine.ran(1, 0, 5, 12);
  machine.ran(0, 1, 0, 20, BranchKind::begin);
  machine.ran(0, 1, 7, 22);
  machine.ran(0, 0, 3, 30);
  const auto all = machine.take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].cpu, 0);
  EXPECT_EQ(all[0].end.instructions, 10u);
  EXPECT_EQ(all[0].branches, 3u);
  ASSERT_EQ(all[0].turns.size(), 2u);
  EXPECT_EQ(all[0].turns[0].slice.name, 1u);
  const ProcessorTurn& last = all[0].turns[1];
  EXPECT_EQ(last.slice.name, 0u);
  EXPECT_EQ(last.begin, 5u);  // instructions that it had executed on the other one
  EXPECT_EQ(last.slice.from.instructions, 7u);
  EXPECT_EQ(last.slice.to.instructions, 10u);
  EXPECT_EQ(last.slice.from.time, 30u);
  EXPECT_EQ(last.slice.branch, 2u);
  ASSERT_EQ(all[1].turns.size(), 1u);
  EXPECT_EQ(all[1].turns[0].slice.branch, 1u);  // behind its beginning
}

// What ran meanwhile nobody recorded, if any time has passed.
TEST(Processors, APauseEndsATurn) {
  Machine machine;
  machine.ran(0, 0, 0, 10, BranchKind::begin);
  machine.ran(0, 0, 5, 12, BranchKind::end);
  machine.ran(0, 0, 0, 12, BranchKind::begin);
  machine.ran(0, 0, 5, 13, BranchKind::end);
  machine.ran(0, 0, 0, 14, BranchKind::begin);
  const auto all = machine.take();
  ASSERT_EQ(all[0].turns.size(), 2u);
  EXPECT_EQ(all[0].turns[0].slice.to.time, 13u);
  EXPECT_EQ(all[0].turns[1].slice.from.time, 14u);
}

TEST(Processors, TooManyTurnsAreMerged) {
  Machine machine(100);
  for (std::uint32_t i = 0; i < 1000; ++i) machine.ran(0, i % 2, 10, 10 * i);
  const auto all = machine.take();
  EXPECT_LE(all[0].turns.size(), 100u);
  std::uint64_t turns = 0;
  for (const ProcessorTurn& turn : all[0].turns) turns += turn.slice.count;
  EXPECT_EQ(turns, 1000u);
  EXPECT_EQ(all[0].turns[0].slice.name, Slice::kMerged);
  EXPECT_EQ(all[0].turns.back().slice.to.instructions, 10'000u);
}

}  // namespace
}  // namespace hodo::serve
