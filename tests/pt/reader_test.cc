// Bytes against packets, one by one: the layouts of the SDM ("Packet Definitions") by hand.
#include "hodo/pt/reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "hodo/pt/describe.h"

namespace hodo::pt {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Layout {
  Bytes bytes;
  Packet packet;  // `size` follows from the bytes
};

const Layout kLayouts[] = {
    {{0x00}, {.type = PacketType::pad}},
    {{0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02,
      0x82},
     {.type = PacketType::psb}},
    {{0x02, 0x23}, {.type = PacketType::psbend}},
    {{0x02, 0xF3}, {.type = PacketType::ovf}},
    {{0x02, 0x83}, {.type = PacketType::trace_stop}},
    // TNT short: 0000'01b0 to 1bbb'bbb0.
    {{0b0000'0100}, {.type = PacketType::tnt, .count = 1, .payload = 0b0}},
    {{0b0000'0110}, {.type = PacketType::tnt, .count = 1, .payload = 0b1}},
    {{0b0011'0010}, {.type = PacketType::tnt, .count = 4, .payload = 0b1001}},
    {{0b1111'1100}, {.type = PacketType::tnt, .count = 6, .payload = 0b111110}},
    // TNT long: the stop bit in any place, the highest leaves 47 outcomes.
    {{0x02, 0xA3, 0x02, 0, 0, 0, 0, 0}, {.type = PacketType::tnt, .count = 1, .payload = 0}},
    {{0x02, 0xA3, 0x35, 0x12, 0x01, 0, 0, 0},
     {.type = PacketType::tnt, .count = 16, .payload = 0x1235}},
    {{0x02, 0xA3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF},
     {.type = PacketType::tnt, .count = 47, .payload = 0x7FFFFFFFFFFF}},
    // IP packets: three bits of IPBytes over five of type.
    {{0x0D}, {.type = PacketType::tip}},
    {{0x2D, 0x34, 0x12},
     {.type = PacketType::tip, .ip_bytes = IpBytes::update16, .payload = 0x1234}},
    {{0x51, 0x78, 0x56, 0x34, 0x12},
     {.type = PacketType::tip_pge, .ip_bytes = IpBytes::update32, .payload = 0x12345678}},
    {{0x61, 1, 2, 3, 4, 5, 0x86},
     {.type = PacketType::tip_pgd, .ip_bytes = IpBytes::sext48, .payload = 0x860504030201}},
    {{0x9D, 1, 2, 3, 4, 5, 6},
     {.type = PacketType::fup, .ip_bytes = IpBytes::update48, .payload = 0x060504030201}},
    {{0xDD, 1, 2, 3, 4, 5, 6, 7, 8},
     {.type = PacketType::fup, .ip_bytes = IpBytes::full, .payload = 0x0807060504030201}},
    // PIP: CR3[51:5] over NR.
    {{0x02, 0x43, 0x01, 0, 0, 0, 0, 0}, {.type = PacketType::pip, .extra = 1}},
    {{0x02, 0x43, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF},
     {.type = PacketType::pip, .payload = 0xFFFFFFFFFFFE0}},
    // MODE: leaf 7:5; reserved bits 4:3 of Exec and 4:2 of TSX are not part of the mode.
    {{0x99, 0x01}, {.type = PacketType::mode_exec, .payload = kExecCsL}},
    {{0x99, 0x06}, {.type = PacketType::mode_exec, .payload = kExecCsD | kExecIf}},
    {{0x99, 0x18}, {.type = PacketType::mode_exec, .payload = 0}},
    {{0x99, 0x21}, {.type = PacketType::mode_tsx, .payload = 1}},
    {{0x99, 0x3E}, {.type = PacketType::mode_tsx, .payload = 2}},
    {{0x02, 0xC8, 0x21, 0x43, 0x65, 0x87, 0xA9},
     {.type = PacketType::vmcs, .payload = 0xA987654321000}},
    // Timing.
    {{0x19, 1, 2, 3, 4, 5, 6, 7}, {.type = PacketType::tsc, .payload = 0x07060504030201}},
    {{0x59, 0xFE}, {.type = PacketType::mtc, .payload = 0xFE}},
    {{0x02, 0x73, 0x34, 0x12, 0, 0xFF, 0x01},
     {.type = PacketType::tma, .payload = 0x1234, .extra = 0x1FF}},
    {{0b1111'1011}, {.type = PacketType::cyc, .payload = 31}},
    {{0b0000'1111, 0b0000'0010}, {.type = PacketType::cyc, .payload = 1 | 1 << 5}},
    {{0b0000'0111, 0b0000'0001, 0b1111'1110}, {.type = PacketType::cyc, .payload = 127 << 12}},
    {{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE},
     {.type = PacketType::cyc, .payload = 0x1FFFFFFFFFFFFFFF}},
    {{0x02, 0x03, 0x18, 0x00}, {.type = PacketType::cbr, .payload = 0x18}},
    // Maintenance, PTWRITE, power.
    {{0x02, 0xC3, 0x88, 1, 2, 3, 4, 5, 6, 7, 8},
     {.type = PacketType::mnt, .payload = 0x0807060504030201}},
    {{0x02, 0x12, 1, 2, 3, 4}, {.type = PacketType::ptw, .count = 4, .payload = 0x04030201}},
    {{0x02, 0x92, 1, 2, 3, 4},
     {.type = PacketType::ptw, .count = 4, .payload = 0x04030201, .extra = 1}},
    {{0x02, 0x32, 1, 2, 3, 4, 5, 6, 7, 8},
     {.type = PacketType::ptw, .count = 8, .payload = 0x0807060504030201}},
    {{0x02, 0xB2, 1, 2, 3, 4, 5, 6, 7, 8},
     {.type = PacketType::ptw, .count = 8, .payload = 0x0807060504030201, .extra = 1}},
    {{0x02, 0x62}, {.type = PacketType::exstop}},
    {{0x02, 0xE2}, {.type = PacketType::exstop, .extra = 1}},
    {{0x02, 0xC2, 0x21, 0, 0, 0, 0x01, 0, 0, 0},
     {.type = PacketType::mwait, .payload = 0x100000021}},
    {{0x02, 0x22, 0x80, 0x34}, {.type = PacketType::pwre, .payload = 1 << 8 | 3 << 4 | 4}},
    {{0x02, 0x22, 0x7F, 0x00}, {.type = PacketType::pwre}},  // reserved bits 6:0
    {{0x02, 0xA2, 0x36, 0x01, 0, 0, 0}, {.type = PacketType::pwrx, .payload = 1 << 8 | 6 << 4 | 3}},
    // Blocks; their items are below, in Block.*.
    {{0x02, 0x63, 0x84}, {.type = PacketType::bbp, .payload = 4, .extra = 1}},
    {{0x02, 0x63, 0x1F}, {.type = PacketType::bbp, .payload = 31}},
    {{0x02, 0x33}, {.type = PacketType::bep}},
    {{0x02, 0xB3}, {.type = PacketType::bep, .extra = 1}},
    // Events and triggers.
    {{0x02, 0x13, 0x81, 0x0E}, {.type = PacketType::cfe, .payload = 1, .extra = 0x0E01}},
    {{0x02, 0x13, 0x1F, 0xFF}, {.type = PacketType::cfe, .payload = 31, .extra = 0xFF00}},
    {{0x02, 0x53, 0x3F, 1, 2, 3, 4, 5, 6, 7, 8},
     {.type = PacketType::evd, .payload = 0x0807060504030201, .extra = 63}},
    {{0xD9, 0x00, 0x05}, {.type = PacketType::trig, .payload = 5}},
    {{0xD9, 0xA0, 0x80}, {.type = PacketType::trig, .payload = 0x80, .extra = 1 | kTrigMultiple}},
    {{0xD9, 0x40, 0x01, 0x34, 0x12},
     {.type = PacketType::trig, .payload = 1, .extra = kTrigCounted | 0x1234u << 16}},
};

TEST(Reader, KnowsEveryLayout) {
  for (const Layout& layout : kLayouts) {
    Packet expected = layout.packet;
    expected.size = static_cast<std::uint8_t>(layout.bytes.size());
    PacketReader reader(layout.bytes);
    const Result<Packet> packet = reader.next();
    ASSERT_TRUE(packet) << to_string(expected) << ": " << packet.error().message;
    EXPECT_EQ(*packet, expected) << to_string(*packet) << " / " << to_string(expected);
    EXPECT_TRUE(reader.at_end());
  }
}

TEST(Reader, TheLayoutsCoverEveryType) {
  std::vector<bool> seen(kPacketTypes);
  for (const Layout& layout : kLayouts) seen[static_cast<std::size_t>(layout.packet.type)] = true;
  seen[static_cast<std::size_t>(PacketType::bip)] = true;  // Block.*
  for (int i = 0; i < kPacketTypes; ++i) EXPECT_TRUE(seen[i]) << name(static_cast<PacketType>(i));
}

struct Damage {
  const char* what;
  Bytes bytes;
};

const Damage kMalformed[] = {
    {"no packet ends in 0'0101", {0x05}},
    {"no packet ends in 0'1001", {0x09}},
    {"no packet ends in 1'0101", {0x15}},
    {"the 19 family has four members", {0x39}},
    {"IPBytes 5", {0xAD, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"IPBytes 7", {0xED, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"unknown extended opcode", {0x02, 0x04}},
    {"unknown opcode after 02 C3", {0x02, 0xC3, 0x00}},
    {"PTW size 2", {0x02, 0x52, 0, 0, 0, 0}},
    {"PTW size 3", {0x02, 0x72, 0, 0, 0, 0}},
    {"long TNT without a stop bit", {0x02, 0xA3, 0, 0, 0, 0, 0, 0}},
    {"long TNT without an outcome", {0x02, 0xA3, 1, 0, 0, 0, 0, 0}},
    {"MODE leaf 2", {0x99, 0x40}},
    {"MODE leaf 7", {0x99, 0xE0}},
    {"MODE.Exec with CS.L and CS.D", {0x99, 0x03}},
    {"MODE.TSX in and aborted", {0x99, 0x23}},
    {"TMA reserved byte", {0x02, 0x73, 0, 0, 1, 0, 0}},
    {"TMA reserved bits", {0x02, 0x73, 0, 0, 0, 0, 2}},
    {"CYC without an end", {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE}},
    {"PSB broken at its end",
     {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x83}},
    {"PSB broken in the middle",
     {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 0, 0x82, 2, 0x82, 2, 0x82, 2, 0x82}},
};

TEST(Reader, SaysMalformedAndDoesNotMove) {
  for (const Damage& damage : kMalformed) {
    Bytes bytes = {0x00};
    bytes.insert(bytes.end(), damage.bytes.begin(), damage.bytes.end());
    PacketReader reader(bytes, 1);
    for (int again = 0; again < 2; ++again) {
      const Result<Packet> packet = reader.next();
      ASSERT_FALSE(packet) << damage.what;
      EXPECT_EQ(packet.error().code, ErrorCode::malformed) << damage.what;
      EXPECT_EQ(packet.error().offset, 1u) << damage.what;
      EXPECT_EQ(reader.offset(), 1u) << damage.what;
    }
  }
}

TEST(Reader, MalformedShowsTheBytes) {
  const Bytes bytes = {0x02, 0x04, 0xAB, 0xCD};
  EXPECT_EQ(PacketReader(bytes).next().error().message, "no packet: 02 04 ab");
}

TEST(Reader, TellsTheEndFromACutPacket) {
  const Bytes bytes = {0x02};
  EXPECT_EQ(PacketReader(bytes).next().error().message, "packet cut off");
  EXPECT_EQ(PacketReader(bytes, 1).next().error().message, "end of trace");
  EXPECT_EQ(PacketReader(bytes, 1000).next().error().code, ErrorCode::truncated);
  EXPECT_EQ(PacketReader({}).next().error().code, ErrorCode::truncated);
}

// Inside a block 100 in the low three bits is an item; outside the same byte is a TNT.
TEST(Block, ItemsAreOfTheSizeThatTheBlockSays) {
  const Bytes bytes = {0x02, 0x63, 0x81, 0x0C, 1, 2, 3, 4,              //
                       0x02, 0x63, 0x01, 0xFC, 1, 2, 3, 4, 5, 6, 7, 8,  //
                       0x02, 0x33, 0x0C};
  PacketReader reader(bytes);
  EXPECT_EQ(reader.next()->type, PacketType::bbp);
  EXPECT_EQ(
      *reader.next(),
      (Packet{.type = PacketType::bip, .size = 5, .count = 4, .payload = 0x04030201, .extra = 1}));
  EXPECT_EQ(reader.next()->type, PacketType::bbp);
  EXPECT_EQ(*reader.next(), (Packet{.type = PacketType::bip,
                                    .size = 9,
                                    .count = 8,
                                    .payload = 0x0807060504030201,
                                    .extra = 31}));
  EXPECT_TRUE(reader.in_block());
  EXPECT_EQ(reader.next()->type, PacketType::bep);
  EXPECT_FALSE(reader.in_block());
  EXPECT_EQ(*reader.next(), (Packet{.type = PacketType::tnt, .size = 1, .count = 2, .payload = 2}));
}

bool in_block_after(const Bytes& packet) {
  Bytes bytes = {0x02, 0x63, 0x01};
  bytes.insert(bytes.end(), packet.begin(), packet.end());
  PacketReader reader(bytes);
  EXPECT_TRUE(reader.next());
  EXPECT_TRUE(reader.next());
  EXPECT_TRUE(reader.at_end());
  return reader.in_block();
}

TEST(Block, IsEndedByPacketsThatCannotBeInIt) {
  // The same list as perf's intel_pt_upd_pkt_ctx() has.
  const std::vector<PacketType> stay = {PacketType::pad,  PacketType::fup,  PacketType::tsc,
                                        PacketType::mtc,  PacketType::tma,  PacketType::cyc,
                                        PacketType::cbr,  PacketType::mnt,  PacketType::bbp,
                                        PacketType::pwre, PacketType::pwrx, PacketType::exstop};
  for (const Layout& layout : kLayouts) {
    if ((layout.bytes[0] & 7) == 4) continue;  // would be an item
    const bool stays = std::ranges::find(stay, layout.packet.type) != stay.end();
    EXPECT_EQ(in_block_after(layout.bytes), stays) << to_string(layout.packet);
  }
}

TEST(Block, IsLeftBySeeking) {
  const Bytes bytes = {0x02, 0x63, 0x01, 0x0C};
  PacketReader reader(bytes);
  EXPECT_TRUE(reader.next());
  reader.seek(3);
  EXPECT_EQ(reader.next()->type, PacketType::tnt);
}

}  // namespace
}  // namespace hodo::pt
