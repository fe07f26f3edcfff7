// Which registers instructions use, as encodings written by hand from the SDM's opcode tables.
#include "hodo/isa/uses.h"

#include <gtest/gtest.h>

#include <vector>

namespace hodo::isa {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Hands = Uses::Hands;
constexpr std::uint64_t kIp = 0x401000;
constexpr std::uint16_t kRax = 1, kRcx = 2, kRdx = 4, kRsp = 16, kRbp = 32, kRsi = 64, kRdi = 128;

Uses uses_of(const Bytes& bytes) {
  const auto out = decode_uses(bytes, kIp);
  EXPECT_TRUE(out);
  return out.value_or(Uses{});
}

TEST(Uses, TellsPointersFromValues) {
  const Uses load = uses_of({0x8b, 0x04, 0xb7});  // mov eax, [rdi+rsi*4]
  EXPECT_EQ(load.pointers, kRdi | kRsi);
  EXPECT_EQ(load.values, 0);
  EXPECT_EQ(load.replaces, kRax);
  const Uses sum = uses_of({0x01, 0x37});  // add [rdi], esi
  EXPECT_EQ(sum.pointers, kRdi);
  EXPECT_EQ(sum.values, kRsi);
  EXPECT_EQ(sum.writes, 0);
}

TEST(Uses, AnAddressThatIsOnlyComputedIsAValue) {
  const Uses lea = uses_of({0x8d, 0x04, 0x37});  // lea eax, [rdi+rsi]
  EXPECT_EQ(lea.pointers, 0);
  EXPECT_EQ(lea.values, kRdi | kRsi);
  const Uses nop = uses_of({0x0f, 0x1f, 0x04, 0x37});  // nop [rdi+rsi]
  EXPECT_EQ(nop.pointers | nop.values, 0);
  const Uses prefetch = uses_of({0x0f, 0x18, 0x0f});  // prefetcht0 [rdi]
  EXPECT_EQ(prefetch.pointers | prefetch.values, 0);
}

TEST(Uses, WhatForgetsARegisterDoesNotReadIt) {
  for (const Bytes& code : {Bytes{0x31, 0xf6},         // xor esi, esi
                            Bytes{0x29, 0xf6},         // sub esi, esi
                            Bytes{0x83, 0xe6, 0x00},   // and esi, 0
                            Bytes{0x83, 0xce, 0xff}})  // or esi, -1
  {
    const Uses uses = uses_of(code);
    EXPECT_EQ(uses.values, 0);
    EXPECT_EQ(uses.replaces, kRsi);
    EXPECT_TRUE(uses.constant);
  }
  EXPECT_EQ(uses_of({0x31, 0xfe}).values, kRsi | kRdi) << "xor esi, edi";
  EXPECT_TRUE(uses_of({0xb8, 1, 0, 0, 0}).constant) << "mov eax, 1";
  EXPECT_FALSE(uses_of({0x89, 0xf8}).constant) << "mov eax, edi";
}

TEST(Uses, APartOfARegisterIsNotReplaced) {
  const Uses uses = uses_of({0xb2, 0x01});  // mov dl, 1
  EXPECT_EQ(uses.writes, kRdx);
  EXPECT_EQ(uses.replaces, 0);
  EXPECT_EQ(uses_of({0x0f, 0x44, 0xd1}).replaces, 0) << "cmovz edx, ecx";
}

TEST(Uses, TellsWhatIsHandedOn) {
  const Uses copy = uses_of({0x89, 0xfb});  // mov ebx, edi
  EXPECT_EQ(copy.hands, Hands::copy);
  EXPECT_EQ(copy.to, 3);
  EXPECT_EQ(copy.from, 7);
  const Uses store = uses_of({0x48, 0x89, 0x7d, 0xf8});  // mov [rbp-8], rdi
  EXPECT_EQ(store.hands, Hands::store);
  EXPECT_EQ(store.from, 7);
  EXPECT_EQ(store.memory.displacement, -8);
  EXPECT_EQ(store.pointers, kRbp);
  const Uses load = uses_of({0x0f, 0xbe, 0x45, 0xf8});  // movsx eax, byte [rbp-8]
  EXPECT_EQ(load.hands, Hands::load);
  EXPECT_EQ(load.to, 0);
  const Uses push = uses_of({0x55});  // push rbp
  EXPECT_EQ(push.hands, Hands::store);
  EXPECT_EQ(push.from, 5);
  EXPECT_EQ(push.memory.base, kNoRegister);
  EXPECT_EQ(push.writes, kRsp);
}

TEST(Uses, RegistersThatNoOperandNames) {
  const Uses moves = uses_of({0xf3, 0xa4});  // rep movsb
  EXPECT_EQ(moves.pointers | moves.values, kRdi | kRsi | kRcx);
  EXPECT_EQ(moves.writes & (kRdi | kRsi | kRcx), kRdi | kRsi | kRcx);
  EXPECT_EQ(uses_of({0x48, 0xf7, 0xe1}).writes, kRax | kRdx) << "mul rcx";
}

TEST(Uses, NotOfWhatIsNoInstruction) {
  EXPECT_FALSE(decode_uses(Bytes{}, kIp));
  EXPECT_FALSE(decode_uses(Bytes{0x48}, kIp));
}

}  // namespace
}  // namespace hodo::isa
