#include <gtest/gtest.h>

#include <vector>

#include "hodo/pt/reader.h"
#include "random_packets.h"

namespace hodo::pt {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes psb_pairs(int count) {
  Bytes out;
  for (int i = 0; i < count; ++i) out.insert(out.end(), {0x02, 0x82});
  return out;
}

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes out;
  for (const Bytes& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

const Bytes kPsbend = {0x02, 0x23};

TEST(Sync, FindsThePsbAtEveryAlignment) {
  for (std::size_t before = 0; before < 64; ++before) {
    const Bytes bytes = joined({Bytes(before, 0x55), psb_pairs(8), kPsbend});
    PacketReader reader(bytes);
    ASSERT_TRUE(reader.sync_forward());
    EXPECT_EQ(reader.offset(), before);
    const Result<Packet> packet = reader.next();
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->type, PacketType::psb);
  }
}

TEST(Sync, ReadsOutOfNoTrace) {
  PacketReader reader({});
  EXPECT_FALSE(reader.sync_forward());
  EXPECT_EQ(reader.offset(), 0u);
}

TEST(Sync, WithoutAPsbGoesToTheEnd) {
  for (int pairs = 0; pairs < 8; ++pairs) {
    const Bytes bytes = joined({Bytes(5, 0x55), psb_pairs(pairs)});
    PacketReader reader(bytes);
    EXPECT_FALSE(reader.sync_forward());
    EXPECT_EQ(reader.offset(), bytes.size());
  }
  const Bytes one_byte_short = joined({psb_pairs(7), {0x02}});
  PacketReader reader(one_byte_short);
  EXPECT_FALSE(reader.sync_forward());
}

TEST(Sync, BehindTheEndFindsNothing) {
  const Bytes bytes = psb_pairs(8);
  PacketReader reader(bytes, bytes.size() + 5);
  EXPECT_FALSE(reader.sync_forward());
  EXPECT_EQ(reader.offset(), bytes.size());
}

TEST(Sync, StaysOnThePsbItStandsOn) {
  const Bytes bytes = joined({{0x55}, psb_pairs(8), kPsbend, psb_pairs(8)});
  PacketReader reader(bytes, 1);
  ASSERT_TRUE(reader.sync_forward());
  EXPECT_EQ(reader.offset(), 1u);
  reader.seek(2);
  ASSERT_TRUE(reader.sync_forward());
  EXPECT_EQ(reader.offset(), 19u);
}

// A TIP whose payload ends in 02 82 and a PSB behind it make a run of nine pairs. A reader that
// comes from the front sees the PSB at the run's end; a split by sync_forward() must put it there
// as well.
TEST(Sync, AgreesWithTheFrontWhereAPayloadLooksLikeAPsb) {
  for (int stray = 1; stray <= 4; ++stray) {
    Packet ptw{.type = PacketType::ptw, .count = 8, .payload = 0x8202820282028202};
    ptw.payload <<= 16 * (4 - stray);
    const Bytes bytes = joined({encode(ptw), psb_pairs(8), kPsbend});
    PacketReader from_front(bytes);
    ASSERT_TRUE(from_front.next());
    const std::size_t psb = from_front.offset();
    ASSERT_EQ(from_front.next()->type, PacketType::psb);
    PacketReader synced(bytes);
    ASSERT_TRUE(synced.sync_forward());
    EXPECT_EQ(synced.offset(), psb) << stray;
  }
}

TEST(Sync, FindsBothOfTwoPsbsInARow) {
  const Bytes bytes = psb_pairs(16);
  PacketReader reader(bytes);
  ASSERT_TRUE(reader.sync_forward());
  EXPECT_EQ(reader.offset(), 0u);
  reader.seek(16);
  ASSERT_TRUE(reader.sync_forward());
  EXPECT_EQ(reader.offset(), 16u);
}

// Also where the bytes behind the match are those of an extended packet, which begins as the PSB
// does.
TEST(Sync, IsNotMovedByTheNextPacketsFirstByte) {
  const Bytes bytes = joined({psb_pairs(8), {0x02, 0x03, 0x18, 0x00}});
  PacketReader reader(bytes);
  ASSERT_TRUE(reader.sync_forward());
  EXPECT_EQ(reader.offset(), 0u);
}

TEST(Sync, LeavesABlock) {
  const Bytes bytes = joined({{0x02, 0x63, 0x01}, psb_pairs(8)});
  PacketReader reader(bytes);
  ASSERT_TRUE(reader.next());
  ASSERT_TRUE(reader.in_block());
  ASSERT_TRUE(reader.sync_forward());
  EXPECT_FALSE(reader.in_block());
}

}  // namespace
}  // namespace hodo::pt
