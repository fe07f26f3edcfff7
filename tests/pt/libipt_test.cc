// The reader against libipt's packet decoder: the same packets, sizes and errors.
#include <gtest/gtest.h>

#include <vector>

#include "hodo/pt/describe.h"
#include "hodo/pt/reader.h"
#include "libipt_packets.h"
#include "random_packets.h"

namespace hodo::pt {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Tally {
  int packets = 0;
  int truncated = 0;
  int malformed = 0;
  int left_out = 0;
};

// Compares at every offset, not only where packets begin: more cases, and no way to fall out of
// step.
void compare(const Bytes& bytes, Tally& tally) {
  LibiptReader libipt(bytes);
  for (std::size_t offset = 0; offset <= bytes.size(); ++offset) {
    const auto rest = std::span(bytes).subspan(offset);
    if (libipt_differs(rest)) {
      ++tally.left_out;
      continue;
    }
    PacketReader reader(bytes, offset);
    Packet ours;
    Packet theirs;
    const ReadStatus our_status = reader.read(ours);
    const ReadStatus their_status = libipt.read_at(offset, theirs);
    ASSERT_EQ(our_status, their_status)
        << "ours: " << to_string(ours) << ", theirs: " << to_string(theirs) << ", first bytes "
        << testing::PrintToString(rest.first(std::min<std::size_t>(rest.size(), 16)));
    if (our_status == ReadStatus::packet) {
      EXPECT_EQ(as_libipt_keeps(ours), theirs) << to_string(ours) << " / " << to_string(theirs);
    }
    tally.packets += our_status == ReadStatus::packet;
    tally.truncated += our_status == ReadStatus::truncated;
    tally.malformed += our_status == ReadStatus::malformed;
  }
}

// A comparison that leaves out nearly everything, or never sees an error, proves nothing.
void expect_worthwhile(const Tally& tally) {
  EXPECT_GT(tally.packets, 10000);
  EXPECT_GT(tally.truncated, 1000);
  EXPECT_GT(tally.malformed, 1000);
  EXPECT_LT(tally.left_out, tally.packets / 4);
}

TEST(Libipt, ReadsValidStreamsTheSame) {
  Random random(101);
  Tally tally;
  for (int i = 0; i < 2000; ++i) {
    Bytes bytes;
    for (int n = 0; n < 20; ++n) {
      Packet packet = random_packet_outside_block(random);
      append(packet, bytes);
    }
    compare(bytes, tally);
  }
  expect_worthwhile(tally);
}

TEST(Libipt, ReadsDamagedStreamsTheSame) {
  Random random(103);
  Tally tally;
  for (int i = 0; i < 5000; ++i) {
    Bytes bytes;
    for (int n = 0; n < 8; ++n) {
      Packet packet = random_packet_outside_block(random);
      append(packet, bytes);
    }
    for (int n = 0; n < 4; ++n) flip_bit(bytes, random);
    bytes.resize(1 + random() % bytes.size());
    compare(bytes, tally);
  }
  expect_worthwhile(tally);
}

TEST(Libipt, ReadsRandomBytesTheSame) {
  Random random(107);
  Tally tally;
  for (int i = 0; i < 5000; ++i) {
    Bytes bytes(1 + random() % 40);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    // Raise the chance of an extended packet from one in 256.
    if (bytes.size() > 2) bytes[random() % (bytes.size() - 1)] = 0x02;
    compare(bytes, tally);
  }
  expect_worthwhile(tally);
}

// All two-byte beginnings, before zeros and before ones.
TEST(Libipt, ReadsEveryBeginningTheSame) {
  Tally tally;
  for (unsigned fill : {0x00u, 0xFFu, 0x88u}) {
    for (unsigned start = 0; start < 0x10000; ++start) {
      Bytes bytes(16, static_cast<std::uint8_t>(fill));
      bytes[0] = static_cast<std::uint8_t>(start);
      bytes[1] = static_cast<std::uint8_t>(start >> 8);
      LibiptReader libipt(bytes);
      if (libipt_differs(bytes)) {
        ++tally.left_out;
        continue;
      }
      PacketReader reader(bytes);
      Packet ours;
      Packet theirs;
      const ReadStatus status = reader.read(ours);
      ASSERT_EQ(status, libipt.read_at(0, theirs)) << std::hex << start;
      if (status != ReadStatus::packet) {
        ++tally.malformed;
        continue;
      }
      EXPECT_EQ(as_libipt_keeps(ours), theirs) << to_string(ours) << " / " << to_string(theirs);
      ++tally.packets;
    }
  }
  EXPECT_LT(tally.left_out, 3 * 0x10000 / 100);
  EXPECT_GT(tally.packets, 3 * 0x10000 * 3 / 4);
  EXPECT_GT(tally.malformed, 1000);
}

}  // namespace
}  // namespace hodo::pt
