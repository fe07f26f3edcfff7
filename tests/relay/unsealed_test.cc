// What is read of packets that a killed process had not handed over.
#include "unsealed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace hodo::relay {
namespace {

using Bytes = std::vector<std::uint8_t>;

const Bytes kTnt = {0x1c}, kTip = {0x2d, 0, 0}, kTip4 = {0x4d, 1, 2, 3, 4};
const Bytes kLongTnt = {0x02, 0xa3, 1, 0, 0, 0, 0, 0x80};
const Bytes kPsb = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
                    0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82};
const Bytes kFup = {0x7d, 1, 2, 3, 4, 5, 6}, kPsbEnd = {0x02, 0x23};

Bytes joined(std::initializer_list<Bytes> packets) {
  Bytes all;
  for (const Bytes& packet : packets) all.insert(all.end(), packet.begin(), packet.end());
  return all;
}

// `bytes` at `at`, where the stream has `written` bytes.
Unsealed memory_with(const Bytes& bytes, std::uint64_t written = 0, std::uint64_t at = 0) {
  Unsealed memory;
  std::ranges::copy(bytes, memory.packets.begin() + static_cast<std::ptrdiff_t>(at));
  memory.place = unsealed_place(written, at);
  return memory;
}

TEST(Unsealed, HasPacketsUpToAByteOfZero) {
  const Bytes packets =
      joined({kTnt, kTip, kLongTnt, kTip4, kPsb, {0x19, 0, 0, 0, 0, 0, 0, 0}, kFup, kPsbEnd, kTnt});
  EXPECT_EQ(packets_behind(memory_with(packets), 0), packets);
  EXPECT_EQ(packets_behind(memory_with(packets, 1000, 4096), 1000), packets);
  EXPECT_EQ(packets_behind(memory_with({}, 1000, 4096), 1000), Bytes());
}

TEST(Unsealed, WasHandedOverInPartMeanwhile) {
  const Unsealed memory = memory_with(joined({kTip4, kTip, kTnt}), 1000, 10);
  EXPECT_EQ(packets_behind(memory, 1000 + kTip4.size()), joined({kTip, kTnt}));
}

TEST(Unsealed, IsNothingWhereThePlaceIsNone) {
  Unsealed memory = memory_with(kTip, 1000, 10);
  EXPECT_EQ(packets_behind(memory, 999), Bytes());
  EXPECT_EQ(packets_behind(memory, 1000 + memory.packets.size()), Bytes());
  memory.place = kNoUnsealed;
  EXPECT_EQ(packets_behind(memory, 1000), Bytes());
  memory.place = unsealed_place(1000, memory.packets.size() + 1);
  EXPECT_EQ(packets_behind(memory, 1000), Bytes());
}

// One byte less than a packet at the end of the memory; half a PSB; what begins no packet.
TEST(Unsealed, EndsBeforeWhatIsNoWholePacket) {
  for (const Bytes& packet : {kTip, kTip4, kLongTnt, kPsb}) {
    const Bytes cut = joined({kTnt, Bytes(packet.begin(), packet.end() - 1)});
    EXPECT_EQ(packets_behind(memory_with(cut, 0, sizeof(Unsealed::packets) - cut.size()), 0), kTnt);
  }
  EXPECT_EQ(packets_behind(memory_with(joined({kTnt, Bytes(kPsb.begin(), kPsb.begin() + 8)})), 0),
            kTnt);
  for (const Bytes& none : {Bytes{0x02, 0x00}, Bytes{0xad, 1}, Bytes{0xff, 1}, Bytes{0x02, 0xc2}}) {
    EXPECT_EQ(packets_behind(memory_with(joined({kTnt, none})), 0), kTnt);
  }
}

// Without its FUP it would say that tracing is off.
TEST(Unsealed, EndsBeforeAPsbThatIsCutOff) {
  const Bytes before = joined({kTip, kPsb, kFup, kPsbEnd, kTnt});
  for (const Bytes& part : {Bytes(), Bytes{0x99, 0x01}, joined({{0x99, 0x01}, kFup})}) {
    EXPECT_EQ(packets_behind(memory_with(joined({before, kPsb, part})), 0), before);
  }
}

TEST(Unsealed, MayHoldAnything) {
  std::mt19937_64 random(1);
  Unsealed memory;
  for (int round = 0; round < 500; ++round) {
    std::ranges::generate(memory.packets, random);
    memory.place = round % 2 == 0 ? random() : unsealed_place(round, random() % 9000);
    const std::uint64_t written =
        round % 3 == 0 ? random() : static_cast<std::uint64_t>(round) + random() % 9000;
    EXPECT_LE(packets_behind(memory, written).size(), memory.packets.size());
  }
}

}  // namespace
}  // namespace hodo::relay
