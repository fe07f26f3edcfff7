#include "hodo/analyze/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "function_code.h"

namespace hodo::analyze {
namespace {

using ::testing::ElementsAre;

using Bytes = std::vector<std::uint8_t>;

std::vector<std::pair<std::uint64_t, std::uint32_t>> blocks(const FunctionCode& code) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> out;
  for (const CoveredBlock& b : code.blocks) out.emplace_back(b.address, b.size);
  return out;
}

//   100  test %edi,%edi
//   102  je   107        conditional: blocks begin at 104 and 107
//   104  call 109        a call ends a block too
//   109 is no start of a block: outside this function's branches there is none there
const Bytes kCode{0x85, 0xff, 0x74, 0x05, 0xe8, 0x00, 0x00, 0x00, 0x00, 0xc3};

TEST(FunctionCode, BlocksEndAtBranchesAndBeginAtTargets) {
  FunctionCode code = take_apart(kCode, 0x100, isa::Mode::bits64, {});
  EXPECT_THAT(blocks(code),
              ElementsAre(std::pair(0x100, 4), std::pair(0x104, 5), std::pair(0x109, 1)));
  EXPECT_THAT(code.conditionals, ElementsAre(0x102));
}

TEST(FunctionCode, PlacesThatWereEnteredBeginBlocks) {
  const std::vector<std::uint64_t> entries{0x102, 0x105};  // the second is in an instruction
  FunctionCode code = take_apart(kCode, 0x100, isa::Mode::bits64, entries);
  EXPECT_THAT(blocks(code), ElementsAre(std::pair(0x100, 2), std::pair(0x102, 2),
                                        std::pair(0x104, 5), std::pair(0x109, 1)));
}

TEST(FunctionCode, PaddingIsNoBlock) {
  //           ret   nopw 0(%rax,%rax,1)                 ret   int3
  const Bytes code{0xc3, 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3, 0xcc};
  FunctionCode parts = take_apart(code, 0, isa::Mode::bits64, {});
  EXPECT_THAT(blocks(parts), ElementsAre(std::pair(0, 1), std::pair(1, 7)))
      << "the second ret makes its block more than padding";
}

TEST(FunctionCode, EndsWhereBytesAreNoInstruction) {
  const Bytes code{0x90, 0xc3, 0x06, 0x90};
  EXPECT_THAT(blocks(take_apart(code, 0, isa::Mode::bits64, {})), ElementsAre(std::pair(0, 2)));
  EXPECT_TRUE(take_apart({}, 0, isa::Mode::bits64, {}).blocks.empty());
}

}  // namespace
}  // namespace hodo::analyze
