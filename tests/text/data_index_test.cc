// Bytes of a file's data, found again.
#include "hodo/text/data_index.h"

#include <gtest/gtest.h>

#include <memory>

#include "elf_builder.h"

namespace hodo::text {
namespace {

class DataIndexTest : public testing::Test {
 protected:
  static std::shared_ptr<const Module> module_of(const Bytes& data) {
    ElfBuilder elf;
    elf.text = Bytes(64, 0x90);
    elf.text.back() = 0xc3;
    elf.functions = {{.begin = kText, .end = kText + 64}};
    elf.data = data;
    return *Module::analyze(elf.build());
  }
  // No two words of it are equal.
  static Bytes different(std::size_t size) {
    Bytes out(size);
    for (std::size_t i = 0; i < size; ++i) {
      out[i] = static_cast<std::uint8_t>((i * 2654435761u) >> 13);
    }
    return out;
  }
};

TEST_F(DataIndexTest, FindsWhatIsThereWhereverItBegins) {
  const Bytes data = different(200);
  const auto module = module_of(data);
  DataIndex index(*module);
  for (const std::size_t size : {1U, 6U, 15U, 16U, 17U, 64U, 200U}) {
    for (std::size_t at = 0; at + size <= data.size(); ++at) {
      ASSERT_EQ(index.has(std::span(data).subspan(at, size)), true) << size << " at " << at;
    }
  }
}

TEST_F(DataIndexTest, DoesNotFindWhatDiffersInOneByte) {
  const Bytes data = different(200);
  const auto module = module_of(data);
  DataIndex index(*module);
  for (const std::size_t size : {6U, 16U, 64U}) {
    for (std::size_t at = 0; at + size <= data.size(); ++at) {
      Bytes other(data.begin() + static_cast<std::ptrdiff_t>(at),
                  data.begin() + static_cast<std::ptrdiff_t>(at + size));
      other[at % size] ^= 0x55;
      ASSERT_EQ(index.has(other), false) << size << " at " << at;
    }
  }
}

TEST_F(DataIndexTest, FindsNothingInFunctions) {
  const auto module = module_of(different(64));
  DataIndex index(*module);
  EXPECT_EQ(index.has(Bytes(32, 0x90)), false);
  EXPECT_EQ(index.has(Bytes(8, 0x90)), false);
}

TEST_F(DataIndexTest, FindsWhatManyPlacesBeginLike) {
  Bytes data(2048, 0x90);
  const Bytes end = {1, 2, 3};
  data.insert(data.end(), end.begin(), end.end());
  const auto module = module_of(data);
  DataIndex index(*module);
  Bytes wanted(40, 0x90);
  wanted.insert(wanted.end(), end.begin(), end.end());
  EXPECT_EQ(index.has(wanted), true);
  wanted.back() = 4;
  EXPECT_EQ(index.has(wanted), false);
}

TEST_F(DataIndexTest, SaysWhenItHasSearchedEnough) {
  const auto module = module_of(Bytes(2048, 0x90));
  DataIndex index(*module, 3000);
  Bytes wanted(40, 0x90);
  wanted.back() = 4;
  EXPECT_EQ(index.has(wanted), false);
  EXPECT_EQ(index.has(wanted), std::nullopt);
  EXPECT_EQ(index.has(different(40)), false) << "for which nothing is searched";
}

}  // namespace
}  // namespace hodo::text
