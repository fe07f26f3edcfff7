// Properties that hold for every packet type and for any bytes at all.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "hodo/pt/describe.h"
#include "hodo/pt/reader.h"
#include "hodo/pt/writer.h"
#include "random_packets.h"

namespace hodo::pt {
namespace {

constexpr int kRounds = 2000;

class EveryType : public testing::TestWithParam<int> {
 protected:
  PacketType type() const { return static_cast<PacketType>(GetParam()); }

  // Bytes of a random packet of the type, and before it the block that it needs, if any.
  struct Sample {
    Packet packet;
    std::vector<std::uint8_t> bytes;
    std::size_t start = 0;
  };
  Sample sample() {
    Sample out{.packet = random_packet(type(), random_)};
    if (type() == PacketType::bip) {
      Packet block = block_for(out.packet);
      append(block, out.bytes);
    }
    out.start = out.bytes.size();
    append(out.packet, out.bytes);
    return out;
  }
  // A reader that stands before the sample's packet. Fails the test if it does not get there.
  static PacketReader reader_at(const Sample& sample, std::span<const std::uint8_t> bytes) {
    PacketReader reader(bytes);
    while (reader.offset() < sample.start) {
      if (!reader.next()) {
        ADD_FAILURE() << "cannot read the block";
        break;
      }
    }
    return reader;
  }

  Random random_{20240611};
};

TEST_P(EveryType, ReadsWhatWasWritten) {
  for (int i = 0; i < kRounds; ++i) {
    const Sample written = sample();
    PacketReader reader = reader_at(written, written.bytes);
    const Result<Packet> read = reader.next();
    ASSERT_TRUE(read) << to_string(written.packet) << ": " << read.error().message;
    EXPECT_EQ(*read, written.packet) << to_string(written.packet) << " / " << to_string(*read);
    EXPECT_EQ(reader.offset(), written.bytes.size());
    EXPECT_TRUE(reader.at_end());
  }
}

TEST_P(EveryType, ReadsTheSameWithBytesBehindIt) {
  for (int i = 0; i < kRounds; ++i) {
    Sample written = sample();
    written.bytes.insert(written.bytes.end(), 16, static_cast<std::uint8_t>(random_()));
    PacketReader reader = reader_at(written, written.bytes);
    const Result<Packet> read = reader.next();
    ASSERT_TRUE(read) << to_string(written.packet) << ": " << read.error().message;
    EXPECT_EQ(*read, written.packet);
  }
}

TEST_P(EveryType, EveryShorterLengthIsTruncatedAndDoesNotMove) {
  for (int i = 0; i < kRounds; ++i) {
    const Sample written = sample();
    for (std::size_t size = written.start; size < written.bytes.size(); ++size) {
      // A copy of just that size, so that a sanitizer sees any read behind it.
      const std::vector<std::uint8_t> cut(written.bytes.data(), written.bytes.data() + size);
      PacketReader reader = reader_at(written, cut);
      const Result<Packet> read = reader.next();
      ASSERT_FALSE(read) << to_string(written.packet) << " cut to " << size;
      EXPECT_EQ(read.error().code, ErrorCode::truncated) << read.error().message;
      EXPECT_EQ(read.error().offset, written.start);
      EXPECT_EQ(reader.offset(), written.start);
    }
  }
}

TEST_P(EveryType, NothingIsWrittenWhereThereIsNoRoom) {
  for (int i = 0; i < kRounds; ++i) {
    Packet packet = random_packet(type(), random_);
    const std::size_t needed = encode(packet).size();
    for (std::size_t size = 0; size < needed; ++size) {
      std::vector<std::uint8_t> out(size, 0xEE);
      EXPECT_EQ(write(packet, out), 0u);
      EXPECT_EQ(out, std::vector<std::uint8_t>(size, 0xEE));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(PacketTypes, EveryType, testing::Range(0, kPacketTypes),
                         [](const testing::TestParamInfo<int>& type) {
                           std::string text(name(static_cast<PacketType>(type.param)));
                           std::erase(text, '.');
                           return text;
                         });

TEST(Streams, APacketSequenceReadsBackInOrder) {
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    std::vector<Packet> written;
    std::vector<std::uint8_t> bytes;
    for (int n = 0; n < 100; ++n) {
      Packet packet = random_packet_outside_block(random);
      append(packet, bytes);
      written.push_back(packet);
      if (packet.type != PacketType::bbp) continue;
      Packet end{.type = PacketType::bep};  // else short TNTs that look like items would be items
      append(end, bytes);
      written.push_back(end);
    }
    PacketReader reader(bytes);
    for (const Packet& expected : written) {
      Packet packet;
      ASSERT_EQ(reader.read(packet), ReadStatus::packet);
      EXPECT_EQ(packet, expected) << to_string(packet) << " / " << to_string(expected);
    }
    EXPECT_TRUE(reader.at_end());
  }
}

// Whatever reads is written back to bytes that read the same; every read moves or says why not.
void check_reading(std::span<const std::uint8_t> bytes) {
  PacketReader reader(bytes);
  while (!reader.at_end()) {
    const std::size_t start = reader.offset();
    const bool in_block = reader.in_block();
    Packet packet;
    const ReadStatus status = reader.read(packet);
    if (status == ReadStatus::truncated) {
      EXPECT_EQ(reader.offset(), start);
      EXPECT_LT(bytes.size() - start, kMaxPacketSize) << "no packet is longer than what is left";
      return;
    }
    if (status == ReadStatus::malformed) {
      EXPECT_EQ(reader.offset(), start);
      reader.seek(start + 1);
      continue;
    }
    ASSERT_GT(packet.size, 0);
    ASSERT_EQ(reader.offset(), start + packet.size);
    EXPECT_EQ(packet.type == PacketType::bip, packet.type == PacketType::bip && in_block);
    EXPECT_FALSE(to_string(packet).empty());
    std::array<std::uint8_t, kMaxPacketSize> again;
    EXPECT_GT(write(packet, again), 0u) << to_string(packet);
  }
}

TEST(Streams, RandomBytesAlwaysMoveOrFail) {
  Random random(11);
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::uint8_t> bytes(random() % 64);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    check_reading(bytes);
  }
}

// Random bytes seldom get past a two-byte opcode; damaged packets do.
TEST(Streams, DamagedPacketsAlwaysMoveOrFail) {
  Random random(13);
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::uint8_t> bytes;
    for (int n = 0; n < 8; ++n) {
      Packet packet = random_packet_outside_block(random);
      append(packet, bytes);
    }
    for (int n = 0; n < 3; ++n) flip_bit(bytes, random);
    bytes.resize(random() % (bytes.size() + 1));
    check_reading(bytes);
  }
}

}  // namespace
}  // namespace hodo::pt
