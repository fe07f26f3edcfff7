// Which processor makes which mistake, and what the reader makes of them.
#include "hodo/pt/errata.h"

#include <gtest/gtest.h>

#include <vector>

#include "hodo/pt/describe.h"
#include "hodo/pt/reader.h"

namespace hodo::pt {
namespace {

using Bytes = std::vector<std::uint8_t>;

Packet first(const Bytes& bytes, const Errata& errata) {
  const auto packet = PacketReader(bytes, 0, errata).next();
  return packet ? *packet : Packet{};
}

TEST(Errata, AreThoseOfTheProcessor) {
  EXPECT_EQ(errata_of(6, 0x4f), (Errata{.bdm64 = true}));
  EXPECT_EQ(errata_of(6, 0x5e), (Errata{.skd007 = true, .skd010 = true, .skd022 = true}));
  EXPECT_EQ(errata_of(6, 0x55), (Errata{.skd022 = true, .skz84 = true}));
  EXPECT_EQ(errata_of(6, 0x8c), (Errata{.skd022 = true}));
  EXPECT_EQ(errata_of(6, 0x5c), (Errata{.apl12 = true}));
  EXPECT_EQ(errata_of(6, 0x7a), Errata{});
  EXPECT_EQ(errata_of(0x13, 1), (Errata{.skd022 = true, .skz84 = true}));
  EXPECT_EQ(errata_of(0x12, 3), (Errata{.skd022 = true}));
  EXPECT_EQ(errata_of(25, 0x5e), Errata{});
}

TEST(Errata, Skd007ReadsAnOverflowInACyc) {
  const Bytes bytes = {0x07, 0x02, 0xf3, 0x00};
  const Packet packet = first(bytes, {.skd007 = true});
  EXPECT_EQ(packet.type, PacketType::ovf);
  EXPECT_EQ(packet.size, 3);
  EXPECT_EQ(first(bytes, {}).type, PacketType::cyc);
}

TEST(Errata, Skd007LeavesOtherCycsAlone) {
  EXPECT_EQ(first({0x07, 0x02}, {.skd007 = true}).size, 2);
  EXPECT_EQ(first({0x07, 0x02, 0xf0}, {.skd007 = true}).size, 2);
  EXPECT_EQ(first({0x07, 0x04, 0xf3}, {.skd007 = true}).type, PacketType::cyc);
  EXPECT_EQ(first({0x03, 0x02, 0xf3}, {.skd007 = true}).size, 1);
}

TEST(Errata, Skz84SkipsATmaWithAByteTooMany) {
  const Bytes bytes = {0x02, 0x73, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66};
  const Packet packet = first(bytes, {.skz84 = true});
  EXPECT_EQ(packet.type, PacketType::tma);
  EXPECT_EQ(packet.size, 8);
  EXPECT_EQ(to_string(packet), "TMA corrupt (erratum SKZ84)");
  EXPECT_EQ(PacketReader(bytes).next().error().code, ErrorCode::malformed);
  const Bytes cut(bytes.begin(), bytes.end() - 1);
  EXPECT_EQ(PacketReader(cut, 0, {.skz84 = true}).next().error().code, ErrorCode::truncated);
}

TEST(Errata, Skz84LeavesWholeTmasAlone) {
  const Bytes bytes = {0x02, 0x73, 0x11, 0x22, 0x00, 0x44, 0x01, 0x66};
  EXPECT_EQ(first(bytes, {.skz84 = true}), first(bytes, {}));
}

}  // namespace
}  // namespace hodo::pt
