#include "hodo/guest/kallsyms.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kallsyms_table.h"

namespace hodo::guest {
namespace {

using Table = KallsymsTable;
using Order = TableOrder;

class Kallsyms : public testing::TestWithParam<Order> {};

TEST_P(Kallsyms, AreFoundInAnImage) {
  const std::string longest(300, 'x');
  const auto image = Table()
                         .add('A', "current_task", 0x1fb80)
                         .add('T', "_stext", -1)
                         .add('D', "tab_le", -1 - 0x20)
                         .add('t', longest, -1 - 0x40)
                         .fill(300)
                         .write(GetParam());
  const auto symbols = read_kallsyms(image);
  ASSERT_TRUE(symbols) << symbols.error().message;
  ASSERT_EQ(symbols->size(), 304);
  EXPECT_EQ((*symbols)[0].name, "current_task");
  EXPECT_EQ((*symbols)[0].type, 'A');
  EXPECT_EQ((*symbols)[0].address, 0x1fb80);
  EXPECT_EQ((*symbols)[1].address, 0xffff'ffff'8100'0000);
  EXPECT_EQ((*symbols)[2].name, "tab_le");
  EXPECT_EQ((*symbols)[2].address, 0xffff'ffff'8100'0020);
  EXPECT_EQ((*symbols)[3].name, longest);
  EXPECT_EQ(symbols->back().name, "f299");
}

TEST_P(Kallsyms, OfACutImageAreNotFound) {
  const auto image = Table().fill(300).write(GetParam());
  for (std::size_t size = 0; size + 512 < image.size(); size += 7) {
    EXPECT_FALSE(read_kallsyms(std::span(image).first(size))) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, Kallsyms,
                         testing::Values(Order::old, Order::with_sequence, Order::offsets_last));

TEST(KallsymsTable, WithAWrongMarkerIsNone) {
  auto image = Table().fill(300).write(Order::old);
  const auto good = read_kallsyms(image);
  ASSERT_TRUE(good);
  // The second marker: where the 257th name begins, after 256 of "tf0" to "tf255".
  const std::uint32_t marker = 10 * 4 + 90 * 5 + 156 * 6 - 256 + 256;
  auto at = std::search(image.begin(), image.end(), reinterpret_cast<const std::uint8_t*>(&marker),
                        reinterpret_cast<const std::uint8_t*>(&marker) + 4);
  if (at == image.end()) GTEST_FAIL() << "no marker " << marker;
  ++*at;
  EXPECT_EQ(read_kallsyms(image).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace hodo::guest
