// What the writer refuses; what it writes is checked by reading it back, in round_trip_test.cc.
#include "hodo/pt/writer.h"

#include <gtest/gtest.h>

#include <array>

#include "random_packets.h"

namespace hodo::pt {
namespace {

bool is_written(const Packet& packet) {
  std::array<std::uint8_t, kMaxPacketSize> out;
  return write(packet, out) != 0;
}

TEST(Writer, IgnoresTheSize) {
  Packet packet{.type = PacketType::mtc, .size = 200, .payload = 7};
  EXPECT_EQ(encode(packet), (std::vector<std::uint8_t>{0x59, 7}));
}

TEST(Writer, ATntIsShortWhereItFitsUnlessTheLongFormIsAskedFor) {
  Packet packet{.type = PacketType::tnt, .count = 6};
  EXPECT_EQ(encode(packet).size(), 1u);
  packet = {.type = PacketType::tnt, .size = 8, .count = 6};
  EXPECT_EQ(encode(packet).size(), 8u);
  packet = {.type = PacketType::tnt, .size = 1, .count = 7};
  EXPECT_EQ(encode(packet).size(), 8u);
}

TEST(Writer, RefusesATntWithoutOutcomesOrWithTooMany) {
  EXPECT_FALSE(is_written({.type = PacketType::tnt, .count = 0}));
  EXPECT_TRUE(is_written({.type = PacketType::tnt, .count = 47}));
  EXPECT_FALSE(is_written({.type = PacketType::tnt, .count = 48}));
  EXPECT_FALSE(is_written({.type = PacketType::tnt, .count = 2, .payload = 4}));
}

TEST(Writer, RefusesPayloadsThatAreTooWide) {
  EXPECT_FALSE(
      is_written({.type = PacketType::tip, .ip_bytes = IpBytes::update16, .payload = 0x10000}));
  EXPECT_FALSE(is_written({.type = PacketType::tip, .payload = 1}));
  EXPECT_FALSE(is_written({.type = PacketType::tip, .ip_bytes = static_cast<IpBytes>(5)}));
  EXPECT_FALSE(is_written({.type = PacketType::tip, .ip_bytes = static_cast<IpBytes>(255)}));
  EXPECT_FALSE(is_written({.type = PacketType::pip, .payload = 0x1F}));
  EXPECT_FALSE(is_written({.type = PacketType::pip, .payload = 1ull << 52}));
  EXPECT_FALSE(is_written({.type = PacketType::vmcs, .payload = 0xFFF}));
  EXPECT_FALSE(is_written({.type = PacketType::tsc, .payload = 1ull << 56}));
  EXPECT_FALSE(is_written({.type = PacketType::cyc, .payload = 1ull << 61}));
  EXPECT_FALSE(is_written({.type = PacketType::ptw, .count = 4, .payload = 1ull << 32}));
  EXPECT_FALSE(is_written({.type = PacketType::bip, .count = 8, .extra = 32}));
}

TEST(Writer, RefusesModesThatDoNotExist) {
  EXPECT_FALSE(is_written({.type = PacketType::mode_exec, .payload = kExecCsL | kExecCsD}));
  EXPECT_FALSE(is_written({.type = PacketType::mode_tsx, .payload = 3}));
}

TEST(Writer, RefusesPayloadSizesThatDoNotExist) {
  for (PacketType type : {PacketType::ptw, PacketType::bip}) {
    for (unsigned count : {0u, 1u, 5u, 16u}) {
      EXPECT_FALSE(is_written({.type = type, .count = static_cast<std::uint8_t>(count)})) << count;
    }
  }
}

TEST(Writer, RefusesATriggerCountThatIsNotAnnounced) {
  EXPECT_TRUE(is_written({.type = PacketType::trig, .extra = kTrigCounted | 1u << 16}));
  EXPECT_FALSE(is_written({.type = PacketType::trig, .extra = 1u << 16}));
}

TEST(Writer, RefusesATypeThatIsNone) {
  EXPECT_FALSE(is_written({.type = static_cast<PacketType>(kPacketTypes)}));
}

// Else a mistake in the caller would be written as something that reads back differently.
TEST(Writer, RefusesMembersThatTheTypeDoesNotUse) {
  EXPECT_FALSE(is_written({.type = PacketType::psb, .payload = 1}));
  EXPECT_FALSE(is_written({.type = PacketType::ovf, .extra = 1}));
  EXPECT_FALSE(is_written({.type = PacketType::mtc, .count = 1}));
  EXPECT_FALSE(is_written({.type = PacketType::mtc, .ip_bytes = IpBytes::update16}));
  EXPECT_FALSE(is_written({.type = PacketType::tip, .extra = 1}));
}

}  // namespace
}  // namespace hodo::pt
