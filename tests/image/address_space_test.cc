#include "hodo/image/address_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "temp_file.h"

namespace hodo::image {
namespace {

using test::Bytes;
using test::pattern;
using testing::ElementsAreArray;

constexpr std::uint64_t kForever = ~std::uint64_t{0};

class AddressSpaceTest : public testing::Test {
 protected:
  Slice bytes(const Bytes& b) { return store_.memory(b).value(); }

  // What lies at [address, address + size); shorter where unmapped memory begins.
  static Bytes at(const CodeSource& space, std::uint64_t address, std::size_t size,
                  std::uint64_t time) {
    Bytes out(size);
    out.resize(read_code(space, address, time, out));
    return out;
  }

  ContentStore store_;
  AddressSpace space_;
};

TEST_F(AddressSpaceTest, GivesTheMappingAroundAnAddress) {
  const Bytes code = pattern(100);
  const Slice slice = bytes(code);
  space_.map(0x1000, 100, slice, 7);
  const CodeSpan span = space_.find(0x1020, 7);
  EXPECT_EQ(span.content, slice.content->id());
  EXPECT_EQ(span.offset, 0u);
  EXPECT_EQ(span.address, 0x1000u);
  EXPECT_THAT(span.bytes, ElementsAreArray(code));
  EXPECT_EQ(span.valid_from, 7u);
  EXPECT_EQ(span.valid_until, kForever);
  EXPECT_EQ(space_.find(0xfff, 7).content, 0u);
  EXPECT_EQ(space_.find(0x1000 + 100, 7).content, 0u);
}

TEST_F(AddressSpaceTest, OfALongFileGivesWhatLiesAroundAnAddress) {
  constexpr std::uint64_t kStart = 0x400000, kFrom = 4096 + 5, kSize = 4 << 20;
  const Bytes code = pattern(kFrom + kSize);
  const test::TempFile file(code);
  space_.map(kStart, kSize, store_.file(file.path(), kFrom, kSize).value(), 7);
  for (const std::uint64_t at : {std::uint64_t{0}, kSize / 2 + 1, kSize - 1}) {
    const CodeSpan span = space_.find(kStart + at, 7);
    ASSERT_LE(span.address, kStart + at);
    EXPECT_EQ(span.offset, kFrom + (span.address - kStart));
    EXPECT_GE(span.address + span.bytes.size(),
              std::min(kStart + at + Slice::kAhead, kStart + kSize));
  }
  EXPECT_THAT(this->at(space_, kStart, kSize + 1, 7),
              ElementsAreArray(std::span(code).subspan(kFrom)));
  file.shrink(10);
  EXPECT_EQ(space_.find(kStart, 7).content, space_.find(kStart + kSize - 1, 7).content);
}

TEST_F(AddressSpaceTest, OfAFileThatShrinksMeanwhileHasNothing) {
  const test::TempFile file(pattern(4 << 20));
  space_.map(0x1000, 4 << 20, store_.file(file.path()).value(), 7);
  file.shrink(10);
  const CodeSpan span = space_.find(0x2000, 9);
  EXPECT_EQ(span.content, 0u);
  EXPECT_EQ(span.valid_from, 7u);
}

TEST_F(AddressSpaceTest, BeforeTheFirstMappingSaysUntilWhenNothingIsThere) {
  space_.map(0x1000, 100, bytes(pattern(100)), 7);
  const CodeSpan span = space_.find(0x1020, 6);
  EXPECT_EQ(span.content, 0u);
  EXPECT_EQ(span.valid_from, 0u);
  EXPECT_EQ(span.valid_until, 7u);
}

TEST_F(AddressSpaceTest, AOneBytePokeSplitsTheFileAroundIt) {
  const Bytes code = pattern(100);
  const Slice file = bytes(code);
  space_.map(0x1000, 100, file, 0);
  space_.map(0x1010, 1, bytes({0xcc}), 50);

  const CodeSpan below = space_.find(0x100f, 60);
  EXPECT_EQ(below.content, file.content->id());
  EXPECT_EQ(below.bytes.size(), 0x10u);
  const CodeSpan poke = space_.find(0x1010, 60);
  EXPECT_EQ(poke.address, 0x1010u);
  EXPECT_THAT(poke.bytes, ElementsAreArray({0xcc}));
  EXPECT_EQ(poke.valid_from, 50u);
  const CodeSpan above = space_.find(0x1011, 60);
  EXPECT_EQ(above.content, file.content->id());
  EXPECT_EQ(above.offset, 0x11u);
  EXPECT_EQ(above.address, 0x1011u);
  EXPECT_EQ(above.bytes.size(), 100u - 0x11);

  const CodeSpan before = space_.find(0x1010, 49);
  EXPECT_EQ(before.content, file.content->id());
  EXPECT_EQ(before.valid_until, 50u);
  Bytes poked = code;
  poked[0x10] = 0xcc;
  EXPECT_EQ(at(space_, 0x1000, 200, 60), poked);
  EXPECT_EQ(at(space_, 0x1000, 200, 49), code);
}

TEST_F(AddressSpaceTest, UnmapLeavesAHole) {
  const Bytes code = pattern(100);
  space_.map(0x1000, 100, bytes(code), 0);
  space_.unmap(0x1020, 10, 5);
  EXPECT_EQ(at(space_, 0x1000, 100, 5).size(), 0x20u);
  EXPECT_EQ(at(space_, 0x102a, 100, 5).size(), 100u - 0x2a);
  EXPECT_EQ(at(space_, 0x1000, 100, 4), code);
  EXPECT_EQ(space_.find(0x1020, 9).valid_from, 5u);
}

TEST_F(AddressSpaceTest, AMappingLongerThanItsBytesHidesWhatItCovers) {
  space_.map(0x1000, 200, bytes(pattern(200)), 0);
  space_.map(0x1000, 100, bytes({1, 2, 3}), 1);
  EXPECT_EQ(at(space_, 0x1000, 10, 1), (Bytes{1, 2, 3}));
  EXPECT_EQ(space_.find(0x1003, 1).content, 0u);
  EXPECT_EQ(space_.find(0x1063, 1).content, 0u);
  EXPECT_NE(space_.find(0x1064, 1).content, 0u);
}

TEST_F(AddressSpaceTest, ExecForgetsEverything) {
  space_.map(0x1000, 100, bytes(pattern(100)), 0);
  space_.clear(5);
  space_.map(0x2000, 3, bytes({1, 2, 3}), 5);
  EXPECT_EQ(space_.find(0x1000, 5).content, 0u);
  EXPECT_EQ(at(space_, 0x2000, 3, 5), (Bytes{1, 2, 3}));
  EXPECT_NE(space_.find(0x1000, 4).content, 0u);
}

TEST_F(AddressSpaceTest, AForkedChildHasWhatItsParentHadThen) {
  space_.map(0x1000, 4, bytes({1, 2, 3, 4}), 0);
  space_.map(0x1000, 4, bytes({5, 6, 7, 8}), 20);
  AddressSpace child;
  child.fork_from(space_, 10);
  child.map(0x1002, 1, bytes({0xcc}), 15);
  EXPECT_EQ(child.find(0x1000, 9).content, 0u);
  EXPECT_EQ(at(child, 0x1000, 4, 10), (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(at(child, 0x1000, 4, 30), (Bytes{1, 2, 0xcc, 4}));
  EXPECT_EQ(at(space_, 0x1000, 4, 30), (Bytes{5, 6, 7, 8}));
  EXPECT_EQ(child.find(0x1000, 12).address, 0x1000u);
  EXPECT_EQ(child.find(0x1000, 12).offset, 0u);
  EXPECT_EQ(child.find(0x1000, 12).valid_from, 10u);
  EXPECT_EQ(child.find(0x1000, 12).valid_until, kForever);
  EXPECT_EQ(child.find(0x1002, 12).valid_until, 15u);

  AddressSpace grandchild;
  grandchild.fork_from(child, 17);
  EXPECT_EQ(at(grandchild, 0x1000, 4, 40), (Bytes{1, 2, 0xcc, 4}));
}

TEST_F(AddressSpaceTest, AForkMayBeKnownBeforeTheParentsMappings) {
  AddressSpace child;
  child.fork_from(space_, 10);
  EXPECT_EQ(child.find(0x1000, 10).content, 0u);
  space_.map(0x1000, 1, bytes({1}), 5);
  EXPECT_NE(child.find(0x1000, 10).content, 0u);
}

TEST_F(AddressSpaceTest, ARingOfForksEndsInNothing) {
  AddressSpace other;
  other.fork_from(space_, 1);
  space_.fork_from(other, 1);
  EXPECT_EQ(space_.find(0x1000, 1).content, 0u);
  AddressSpace self;
  self.fork_from(self, 1);
  EXPECT_EQ(self.find(0x1000, 2).content, 0u);
}

TEST_F(AddressSpaceTest, TheEndOfTheAddressSpaceIsAnEnd) {
  space_.map(kForever - 1, 10, bytes(pattern(10)), 0);
  EXPECT_EQ(space_.find(kForever, 0).bytes.size(), 2u);
  EXPECT_EQ(at(space_, kForever - 1, 10, 0), pattern(2));
  EXPECT_EQ(space_.find(0, 0).content, 0u);
}

TEST_F(AddressSpaceTest, AHundredThousandPokes) {
  constexpr std::uint64_t kPokes = 100000;
  const Bytes code = pattern(2 * kPokes);
  space_.map(0x10000, code.size(), bytes(code), 0);
  const Slice pokes[] = {bytes({0xcc}), bytes({0x90})};
  for (std::uint64_t i = 0; i < kPokes; ++i) space_.map(0x10000 + 2 * i, 1, pokes[i % 2], 1 + i);
  for (std::uint64_t i = 0; i < kPokes; i += 97) {
    const CodeSpan before = space_.find(0x10000 + 2 * i, i);
    EXPECT_EQ(before.bytes[0], code[2 * i]);
    EXPECT_EQ(before.valid_until, 1 + i);
    EXPECT_EQ(space_.find(0x10000 + 2 * i, 1 + i).bytes[0], i % 2 == 0 ? 0xcc : 0x90);
    EXPECT_EQ(space_.find(0x10001 + 2 * i, kPokes).bytes[0], code[2 * i + 1]);
  }
}

}  // namespace
}  // namespace hodo::image
