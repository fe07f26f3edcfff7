#include <gtest/gtest.h>

#include "hodo/pt/packet.h"
#include "random_packets.h"

namespace hodo::pt {
namespace {

Packet tip(IpBytes form, std::uint64_t payload) {
  return {.type = PacketType::tip, .ip_bytes = form, .payload = payload};
}

LastIp starting_at(std::uint64_t ip) {
  LastIp out;
  out.update(tip(IpBytes::full, ip));
  return out;
}

std::uint64_t updated(std::uint64_t last, IpBytes form, std::uint64_t payload) {
  LastIp last_ip = starting_at(last);
  EXPECT_TRUE(last_ip.update(tip(form, payload)));
  return last_ip.ip();
}

constexpr std::uint64_t kOld = 0x1122334455667788;

TEST(LastIp, BeginsAtZero) { EXPECT_EQ(LastIp().ip(), 0u); }

TEST(LastIp, SuppressedGivesNoAddressAndKeepsTheLast) {
  LastIp last_ip = starting_at(kOld);
  EXPECT_FALSE(last_ip.update(tip(IpBytes::suppressed, 0)));
  EXPECT_EQ(last_ip.ip(), kOld);
}

TEST(LastIp, Update16ReplacesTheLow16Bits) {
  EXPECT_EQ(updated(kOld, IpBytes::update16, 0xABCD), 0x112233445566ABCD);
}

TEST(LastIp, Update32ReplacesTheLow32Bits) {
  EXPECT_EQ(updated(kOld, IpBytes::update32, 0x89ABCDEF), 0x1122334489ABCDEF);
}

TEST(LastIp, Sext48ExtendsTheSignWhateverTheLastIpWas) {
  EXPECT_EQ(updated(kOld, IpBytes::sext48, 0x7FFFFFFFFFFF), 0x00007FFFFFFFFFFF);
  EXPECT_EQ(updated(kOld, IpBytes::sext48, 0x800000000000), 0xFFFF800000000000);
  EXPECT_EQ(updated(kOld, IpBytes::sext48, 0), 0u);
}

TEST(LastIp, Update48ReplacesTheLow48Bits) {
  EXPECT_EQ(updated(kOld, IpBytes::update48, 0xFEDCBA987654), 0x1122FEDCBA987654);
}

TEST(LastIp, FullReplacesAll) {
  EXPECT_EQ(updated(kOld, IpBytes::full, 0xFEDCBA9876543210), 0xFEDCBA9876543210);
}

TEST(LastIp, ReservedFormsAreNoAddress) {
  for (int form : {5, 7}) {
    LastIp last_ip = starting_at(kOld);
    EXPECT_FALSE(last_ip.update(tip(static_cast<IpBytes>(form), 1)));
    EXPECT_EQ(last_ip.ip(), kOld);
  }
}

TEST(LastIp, ClearForgets) {
  LastIp last_ip = starting_at(kOld);
  last_ip.clear();
  EXPECT_EQ(last_ip.ip(), 0u);
}

IpBytes compressed(std::uint64_t last, std::uint64_t ip) { return starting_at(last).compress(ip); }

TEST(Compress, ChoosesByTheHighestBitThatChanged) {
  EXPECT_EQ(compressed(0x401000, 0x401000), IpBytes::update16);
  EXPECT_EQ(compressed(0x401000, 0x40FFFF), IpBytes::update16);
  EXPECT_EQ(compressed(0x401000, 0x411000), IpBytes::update32);
  EXPECT_EQ(compressed(0x401000, 0xFFFFFFFF), IpBytes::update32);
  EXPECT_EQ(compressed(0x401000, 0x100000000), IpBytes::sext48);
  EXPECT_EQ(compressed(0x401000, 0xFFFF800000000000), IpBytes::sext48);
  EXPECT_EQ(compressed(kOld, 0x1122FFFFFFFFFFFF), IpBytes::update48);
  EXPECT_EQ(compressed(kOld, 0x1123000000000000), IpBytes::full);
  EXPECT_EQ(compressed(0x401000, 0x0000800000000000), IpBytes::update48);  // not canonical
}

int payload_bytes(IpBytes form) {
  switch (form) {
    case IpBytes::suppressed:
      return 0;
    case IpBytes::update16:
      return 2;
    case IpBytes::update32:
      return 4;
    case IpBytes::sext48:
    case IpBytes::update48:
      return 6;
    case IpBytes::full:
      return 8;
  }
  return 0;
}

// The first `payload_bytes` of `ip`, as a packet of that form carries them.
Packet sent(IpBytes form, std::uint64_t ip) {
  const int unused = 64 - 8 * payload_bytes(form);
  return tip(form, ip << unused >> unused);
}

TEST(Compress, IsTheSmallestFormThatDecodesBack) {
  Random random(3);
  LastIp writer;
  LastIp reader;
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t before = writer.ip();
    // Changes of every width, in user and kernel addresses and in ones that are not canonical.
    const std::uint64_t base = random() % 4 == 0 ? random() : before;
    const auto width = static_cast<unsigned>(random() % 64);
    const std::uint64_t ip = base ^ (random() >> width);
    const IpBytes form = writer.compress(ip);
    EXPECT_EQ(writer.ip(), ip);
    ASSERT_TRUE(reader.update(sent(form, ip)));
    ASSERT_EQ(reader.ip(), ip);
    for (IpBytes other : {IpBytes::update16, IpBytes::update32, IpBytes::sext48, IpBytes::update48,
                          IpBytes::full}) {
      if (payload_bytes(other) >= payload_bytes(form)) continue;
      LastIp smaller = starting_at(before);
      smaller.update(sent(other, ip));
      EXPECT_NE(smaller.ip(), ip) << "a smaller form would have done";
    }
  }
}

}  // namespace
}  // namespace hodo::pt
