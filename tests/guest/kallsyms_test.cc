#include "hodo/guest/kallsyms.h"

#include <gtest/gtest.h>

#include <cstring>

namespace hodo::guest {
namespace {

// As scripts/kallsyms.c writes them: tokens for single characters, and "ab" as token 1.
enum class Order { old, with_sequence, offsets_last };

class Table {
 public:
  Table& add(char type, std::string name, std::int64_t offset) {
    symbols_.push_back({type + name, static_cast<std::int32_t>(offset)});
    return *this;
  }
  // Enough of them for a second marker.
  Table& fill(unsigned count) {
    for (unsigned i = 0; i < count; ++i) add('t', "f" + std::to_string(i), -1 - 16 * i);
    return *this;
  }

  std::vector<std::uint8_t> write(Order order) {
    image_.assign(4096, 0xcc);
    if (order != Order::offsets_last) put_offsets();
    put<std::uint64_t>(symbols_.size());
    put_names();
    if (order != Order::old) image_.resize(image_.size() + 3 * symbols_.size(), 1), align();
    put_tokens();
    if (order == Order::offsets_last) put_offsets();
    image_.resize(image_.size() + 512, 0xcc);
    return image_;
  }

 private:
  void align() { image_.resize((image_.size() + 7) / 8 * 8); }
  template <class T>
  void put(T value) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
    image_.insert(image_.end(), bytes, bytes + sizeof(value));
  }
  void put_offsets() {
    for (const auto& [name, offset] : symbols_) put(offset);
    align();
    put<std::uint64_t>(0xffff'ffff'8100'0000);
  }
  void put_names() {
    std::vector<std::uint32_t> markers;
    const std::size_t start = image_.size();
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
      if (i % 256 == 0) markers.push_back(static_cast<std::uint32_t>(image_.size() - start));
      std::string codes = symbols_[i].first;
      if (const auto pair = codes.find("ab"); pair != codes.npos) codes.replace(pair, 2, "\x01");
      if (codes.size() > 127) {
        put(static_cast<std::uint8_t>(0x80 | (codes.size() & 0x7f)));
        put(static_cast<std::uint8_t>(codes.size() >> 7));
      } else {
        put(static_cast<std::uint8_t>(codes.size()));
      }
      image_.insert(image_.end(), codes.begin(), codes.end());
    }
    align();
    for (const std::uint32_t marker : markers) put(marker);
    align();
  }
  void put_tokens() {
    std::vector<std::uint16_t> index;
    const std::size_t start = image_.size();
    for (unsigned i = 0; i < 256; ++i) {
      index.push_back(static_cast<std::uint16_t>(image_.size() - start));
      if (i == 1) put('a'), put('b');
      if (i >= 32 && i < 127) put(static_cast<char>(i));
      put('\0');
    }
    align();
    for (const std::uint16_t offset : index) put(offset);
    align();
  }

  std::vector<std::pair<std::string, std::int32_t>> symbols_;
  std::vector<std::uint8_t> image_;
};

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
