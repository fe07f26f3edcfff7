#include "function_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "../symbol/shelf.h"
#include "function_code.h"

namespace hodo::analyze {
namespace {

using ::testing::ElementsAre;

using Bytes = std::vector<std::uint8_t>;

using symbol::test::Shelf;

// Code from 0x1000 on: nop; ret at the start of each function, which has two blocks where a branch
// is put in front.
class FunctionTextsTest : public testing::Test {
 protected:
  FunctionTextsTest() : code_(0x4000, 0x90) {
    add(0x1000, {0x74, 0x00, 0xc3});        // je to the ret
    add(0x1010, {0x90, 0xc3});              // one block
    add(0x3000, {0xc3});                    // far from the others
    add(0x4fff, {0xc3, 0xc3, 0xc3, 0xc3});  // of which only a byte is there
  }
  void add(std::uint64_t at, const Bytes& bytes) {
    for (std::size_t i = 0; i < bytes.size() && at - 0x1000 + i < code_.size(); ++i) {
      code_[static_cast<std::size_t>(at - 0x1000) + i] = bytes[i];
    }
    symbols_.push_back({.name = "f", .start = at, .size = bytes.size()});
  }
  FunctionTexts texts() {
    functions_.clear();
    for (const symbol::Symbol& s : symbols_) functions_.push_back(&s);
    return {functions_, isa::Mode::bits64, [this](std::uint64_t at, std::span<std::uint8_t> to) {
              ++reads_;
              const std::size_t from = static_cast<std::size_t>(at - 0x1000);
              const std::size_t size = std::min(to.size(), code_.size() - from);
              std::copy_n(code_.begin() + static_cast<std::ptrdiff_t>(from), size, to.begin());
              return size;
            }};
  }
  Bytes code_;
  std::vector<symbol::Symbol> symbols_;
  std::vector<const symbol::Symbol*> functions_;
  Shelf shelf_;
  int reads_ = 0;
};

TEST_F(FunctionTextsTest, AreThoseOfEachFunctionAsFarAsThereIsCode) {
  const FunctionTexts all = texts();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_THAT(all[0], ElementsAre(0x74, 0x00, 0xc3));
  EXPECT_THAT(all[1], ElementsAre(0x90, 0xc3));
  EXPECT_THAT(all[2], ElementsAre(0xc3));
  EXPECT_THAT(all[3], ElementsAre(0xc3));
  EXPECT_EQ(reads_, 4) << "the first two at once, the last once more by itself";
}

TEST_F(FunctionTextsTest, BlocksAreCountedOnceForTheSameCode) {
  EXPECT_THAT(texts().block_counts(nullptr), ElementsAre(2, 1, 1, 1));
  EXPECT_THAT(texts().block_counts(&shelf_), ElementsAre(2, 1, 1, 1));
  ASSERT_EQ(shelf_.kept.size(), 1u);
  Bytes& kept = shelf_.kept.begin()->second;
  kept.back() = 0;
  EXPECT_THAT(texts().block_counts(&shelf_), ElementsAre(2, 1, 1, 0)) << "what was kept";
  code_[0x10] = 0xc3;
  EXPECT_THAT(texts().block_counts(&shelf_), ElementsAre(2, 2, 1, 1)) << "other code";
}

TEST_F(FunctionTextsTest, CountsThatCannotBeAreNotBelieved) {
  (void)texts().block_counts(&shelf_);
  Bytes& kept = shelf_.kept.begin()->second;
  const Bytes good = kept;
  kept.back() = 2;  // blocks in one byte
  EXPECT_THAT(texts().block_counts(&shelf_), ElementsAre(2, 1, 1, 1));
  kept = good;
  kept.pop_back();
  EXPECT_THAT(texts().block_counts(&shelf_), ElementsAre(2, 1, 1, 1));
  kept.push_back(0);
  EXPECT_THAT(texts().block_counts(&shelf_), ElementsAre(2, 1, 1, 1));
}

}  // namespace
}  // namespace hodo::analyze
