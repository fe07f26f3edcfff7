// A batch in which the branches of remembered paths are not written out.
#include <gtest/gtest.h>

#include <vector>

#include "hodo/flow/decoder.h"

namespace hodo::flow {
namespace {

// Branches are known by where they come from. Paths 0 and 1 are 10 11 12 and 20; the batch is
//
//     walked      1  2            3                 4
//     paths             10 11 12     20  10 11 12
class RepeatsTest : public testing::Test {
 protected:
  static Branch branch(std::uint64_t from, std::uint64_t time) {
    return {.from = from, .time = time, .insns = 7, .kind = BranchKind::jmp};
  }
  std::vector<std::uint64_t> last(std::size_t most, const Repeats::Position& before) const {
    std::vector<std::uint64_t> out;
    for (const Branch& b : batch.last(most, before)) out.push_back(b.from);
    return out;
  }

  std::vector<Branch> edges = {branch(20, 0), branch(10, 0), branch(11, 0), branch(12, 0)};
  std::vector<std::uint32_t> numbers = {1, 2, 3, 0, 0};
  std::vector<Branch> walked = {branch(1, 100), branch(2, 100), branch(3, 102), branch(4, 104)};
  std::vector<Repeat> list = {{.time = 101, .begin = 2, .path = 0, .insns = 5, .count = 3},
                              {.time = 103, .begin = 3, .path = 1, .count = 1},
                              {.time = 103, .begin = 3, .path = 0, .insns = ~0u, .count = 3}};
  Repeats batch{.walked = walked, .list = list, .memory = 1, .numbers = numbers, .edges = edges};
};

using From = std::vector<std::uint64_t>;

TEST_F(RepeatsTest, AllAreInOrder) {
  EXPECT_EQ(last(100, batch.end()), (From{1, 2, 10, 11, 12, 3, 20, 10, 11, 12, 4}));
  EXPECT_EQ(batch.all().size(), 11u);
}

TEST_F(RepeatsTest, APathHasItsTimeAndTheInstructionsBeforeIt) {
  const auto all = batch.all();
  EXPECT_EQ(all[2].insns, 12u);
  EXPECT_EQ(all[2].time, 101u);
  EXPECT_EQ(all[4].insns, 7u);
  EXPECT_EQ(all[4].time, 101u);
  EXPECT_EQ(all[7].insns, ~0u);  // as far as the field can count
  EXPECT_EQ(batch.first_time(), 100u);
  EXPECT_EQ(batch.last_time(), 104u);
}

TEST_F(RepeatsTest, APathMayBeFirstAndLast) {
  list = {{.time = 99, .begin = 0, .path = 1, .count = 1},
          {.time = 105, .begin = 4, .path = 1, .count = 1}};
  batch.list = list;
  EXPECT_EQ(batch.first_time(), 99u);
  EXPECT_EQ(batch.last_time(), 105u);
  EXPECT_EQ(last(3, batch.end()), (From{3, 4, 20}));
}

TEST_F(RepeatsTest, TheLastOnesMayBeginInsideOfAPath) {
  EXPECT_EQ(last(2, batch.end()), (From{12, 4}));
  EXPECT_EQ(last(5, batch.end()), (From{20, 10, 11, 12, 4}));
  EXPECT_EQ(last(0, batch.end()), From{});
}

TEST_F(RepeatsTest, TheLastOnesBeforeAPosition) {
  EXPECT_EQ(last(3, {.repeats = 1, .walked = 3}), (From{11, 12, 3}));
  EXPECT_EQ(last(3, {.repeats = 1, .walked = 2}), (From{10, 11, 12}));
  EXPECT_EQ(last(3, {.repeats = 0, .walked = 2}), (From{1, 2}));
  EXPECT_EQ(last(3, {}), From{});
}

}  // namespace
}  // namespace hodo::flow
