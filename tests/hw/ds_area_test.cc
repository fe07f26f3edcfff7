// The DS area and BTS records, byte by byte.
#include "hodo/hw/ds_area.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hodo::hw {
namespace {

constexpr DsArea kArea{.bts = {0x1000, 0x1018, 0x2800, 0x2000},
                       .pebs = {0x3000, 0x3090, 0x4000, 0x3f00},
                       .pebs_counter_reset = {0xffffffffff, 2, 3, 4, 5, 6, 7, 8}};

// Linux struct debug_store: eight words, then eight reset values.
TEST(DsArea, WideLayoutIsEightWordsAndTheResetValues) {
  std::array<std::uint64_t, 16> words{};
  ASSERT_EQ(ds_area_bytes(DsLayout::bits64), sizeof(words));
  const std::span bytes(reinterpret_cast<std::uint8_t*>(words.data()), sizeof(words));
  write_ds_area(kArea, DsLayout::bits64, bytes);
  EXPECT_THAT(words, ::testing::ElementsAre(0x1000, 0x1018, 0x2800, 0x2000, 0x3000, 0x3090, 0x4000,
                                            0x3f00, 0xffffffffff, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(read_ds_area(bytes, DsLayout::bits64), kArea);
  EXPECT_EQ(words[bts_index_offset(DsLayout::bits64) / 8], 0x1018);
  EXPECT_EQ(words[pebs_index_offset(DsLayout::bits64) / 8], 0x3090);
  EXPECT_FALSE(read_ds_area(bytes.first(sizeof(words) - 1), DsLayout::bits64));
}

// SDM figure "DS Save Area": 4-byte fields at 00H to 1CH, the 40-bit counter reset at 20H.
TEST(DsArea, NarrowLayoutHasOneResetValueOf40Bits) {
  std::array<std::uint32_t, 10> words{};
  ASSERT_EQ(ds_area_bytes(DsLayout::bits32), sizeof(words));
  const std::span bytes(reinterpret_cast<std::uint8_t*>(words.data()), sizeof(words));
  write_ds_area(kArea, DsLayout::bits32, bytes);
  EXPECT_THAT(words, ::testing::ElementsAre(0x1000, 0x1018, 0x2800, 0x2000, 0x3000, 0x3090, 0x4000,
                                            0x3f00, 0xffffffff, 0xff));
  const auto read = read_ds_area(bytes, DsLayout::bits32);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->bts, kArea.bts);
  EXPECT_EQ(read->pebs, kArea.pebs);
  EXPECT_EQ(read->pebs_counter_reset[0], 0xffffffffff);
}

TEST(DsBuffer, IsSoundIfItsIndexIsAtARecord) {
  EXPECT_TRUE((DsBuffer{0x1000, 0x1000, 0x1018, 0}.is_sound(24)));
  EXPECT_TRUE((DsBuffer{0x1000, 0x1018, 0x1018, 0}.is_sound(24)));
  EXPECT_FALSE((DsBuffer{0x1000, 0x1001, 0x1018, 0}.is_sound(24)));
  EXPECT_FALSE((DsBuffer{0x1000, 0x1030, 0x1018, 0}.is_sound(24)));
  EXPECT_FALSE((DsBuffer{0x1000, 0x0fe8, 0x1018, 0}.is_sound(24)));
  EXPECT_FALSE((DsBuffer{0x1000, 0x1000, 0x1017, 0}.is_sound(24)));
  EXPECT_FALSE((DsBuffer{0x1000, 0x1000, 0x0fff, 0}.is_sound(24)));
}

TEST(BtsRecords, ReadsBothWidthsAndNeverPastTheEnd) {
  const std::uint8_t narrow[] = {0, 0x80, 4, 8, 0, 0x90, 4, 8, 0x10, 0, 0, 0, 1};
  ByteReader in{std::span(narrow)};
  const auto record = read_bts_record(in, DsLayout::bits32);
  EXPECT_EQ(record, (BtsRecord{0x08048000, 0x08049000, 0x10}));
  EXPECT_TRUE(record->predicted());
  EXPECT_FALSE(read_bts_record(in, DsLayout::bits32));
  EXPECT_EQ(in.remaining(), 1);

  std::array<std::uint8_t, 24> wide{};
  write_bts_record({0x0102030405060708, 2, 0}, DsLayout::bits64, wide);
  EXPECT_EQ(wide[0], 8);
  EXPECT_EQ(wide[7], 1);
  EXPECT_EQ(wide[8], 2);
  ByteReader short_of_one{std::span(wide).first(23)};
  EXPECT_FALSE(read_bts_record(short_of_one, DsLayout::bits64));
}

}  // namespace
}  // namespace hodo::hw
