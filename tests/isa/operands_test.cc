// Addresses, immediates and uses of the stack pointer, as encodings written by hand from the SDM's
// opcode tables.
#include "hodo/isa/operands.h"

#include <gtest/gtest.h>

#include <vector>

namespace hodo::isa {
namespace {

using Bytes = std::vector<std::uint8_t>;
using S = StackUse;
constexpr std::uint64_t kIp = 0x401000;

std::optional<Operands> decode64(const Bytes& bytes) {
  return decode_operands(bytes, kIp, Mode::bits64);
}
std::optional<Operands> decode32(const Bytes& bytes) {
  return decode_operands(bytes, kIp, Mode::bits32);
}

struct StackCase {
  const char* what;
  Bytes bytes;
  S use;
};
void PrintTo(const StackCase& c, std::ostream* out) { *out << c.what; }

class StackUses : public testing::TestWithParam<StackCase> {};

TEST_P(StackUses, AreTold) {
  const auto insn = decode64(GetParam().bytes);
  ASSERT_TRUE(insn);
  EXPECT_EQ(insn->insn.length, GetParam().bytes.size());
  EXPECT_EQ(static_cast<int>(insn->stack), static_cast<int>(GetParam().use));
}

TEST(LowBits, AreTold) {
  struct Case {
    const char* what;
    Bytes bytes;
    std::optional<unsigned> bits;
  };
  const Case cases[] = {{"and rcx, 0xfff", {0x48, 0x81, 0xe1, 0xff, 0x0f, 0, 0}, 12},
                        {"and eax, 0xfff", {0x25, 0xff, 0x0f, 0, 0}, 12},
                        {"and rax, -16", {0x48, 0x83, 0xe0, 0xf0}, 4},
                        {"and rax, -64", {0x48, 0x83, 0xe0, 0xc0}, 6},
                        {"and r9d, 0x3f", {0x41, 0x83, 0xe1, 0x3f}, 6},
                        {"and rax, -4096", {0x48, 0x25, 0x00, 0xf0, 0xff, 0xff}, 12},
                        {"and eax, -1: all", {0x83, 0xe0, 0xff}, 0},
                        {"shl eax, 20", {0xc1, 0xe0, 0x14}, 12},
                        {"shl rax, 52", {0x48, 0xc1, 0xe0, 0x34}, 12},
                        {"and r12, -16", {0x49, 0x83, 0xe4, 0xf0}, 4},
                        {"and rsp, -16", {0x48, 0x83, 0xe4, 0xf0}, std::nullopt},
                        {"and eax, 0x30", {0x83, 0xe0, 0x30}, std::nullopt},
                        {"and [rax], 0xf", {0x83, 0x20, 0x0f}, std::nullopt},
                        {"or eax, 0xf", {0x83, 0xc8, 0x0f}, std::nullopt},
                        {"sub rax, -64", {0x48, 0x83, 0xe8, 0xc0}, std::nullopt},
                        {"nop", {0x90}, std::nullopt}};
  for (const Case& c : cases) {
    const auto insn = decode64(c.bytes);
    ASSERT_TRUE(insn) << c.what;
    EXPECT_EQ(insn->low_bits, c.bits) << c.what;
  }
}

const StackCase kStackCases[] = {
    {"push rax", {0x50}, S::push},
    {"push imm32", {0x68, 1, 2, 3, 4}, S::push},
    {"push [rip+0]", {0xff, 0x35, 0, 0, 0, 0}, S::push},
    {"mov [rsp], rax", {0x48, 0x89, 0x04, 0x24}, S::store_top},
    {"mov [rsp+8], rax", {0x48, 0x89, 0x44, 0x24, 0x08}, S::other},
    {"mov [r12], rax", {0x49, 0x89, 0x04, 0x24}, S::other},
    {"mov rsp, r8", {0x4c, 0x89, 0xc4}, S::load},
    {"mov rsp, rbp", {0x48, 0x89, 0xec}, S::frame},
    {"mov rsp, r13", {0x4c, 0x89, 0xec}, S::load},
    {"mov r12, rax", {0x49, 0x89, 0xc4}, S::other},
    {"mov rsp, [rdx+0xa0]", {0x48, 0x8b, 0xa2, 0xa0, 0, 0, 0}, S::load},
    {"mov rsp, [rip+0x10]", {0x48, 0x8b, 0x25, 0x10, 0, 0, 0}, S::load},
    {"mov rsp, [0x404040]", {0x48, 0x8b, 0x24, 0x25, 0x40, 0x40, 0x40, 0}, S::load},
    {"mov rsp, [rax*8+0x404040]", {0x48, 0x8b, 0x24, 0xc5, 0x40, 0x40, 0x40, 0}, S::load},
    {"mov rsp, [rbp-8]", {0x48, 0x8b, 0x65, 0xf8}, S::frame},
    {"mov rsp, [rbp+0x40]", {0x48, 0x8b, 0x65, 0x40}, S::load},
    {"mov rsp, [rbp+0]", {0x48, 0x8b, 0x65, 0x00}, S::load},
    {"lea rsp, [rip+0x10]", {0x48, 0x8d, 0x25, 0x10, 0, 0, 0}, S::load},
    {"mov r12, [rdx+0xa0]", {0x4c, 0x8b, 0xa2, 0xa0, 0, 0, 0}, S::other},
    {"mov rsp, [rsp+8]", {0x48, 0x8b, 0x64, 0x24, 0x08}, S::load},
    {"mov rax, [rsp+8]", {0x48, 0x8b, 0x44, 0x24, 0x08}, S::peek},
    {"mov rax, [rdx+8]", {0x48, 0x8b, 0x42, 0x08}, S::other},
    {"mov rax, rsp", {0x48, 0x8b, 0xc4}, S::other},
    {"lea rsp, [rbp-40]", {0x48, 0x8d, 0x65, 0xd8}, S::frame},
    {"lea rsp, [r13-40]", {0x49, 0x8d, 0x65, 0xd8}, S::load},
    {"lea rsp, [rsp+8]", {0x48, 0x8d, 0x64, 0x24, 0x08}, S::other},
    {"leave", {0xc9}, S::frame},
    {"pop rsp", {0x5c}, S::load},
    {"pop r12", {0x41, 0x5c}, S::other},
    {"xchg rsp, rax", {0x48, 0x94}, S::load},
    {"xchg r12, rax", {0x49, 0x94}, S::other},
    {"add rsp, 8", {0x48, 0x83, 0xc4, 0x08}, S::other},
    {"sub rsp, rax", {0x48, 0x29, 0xc4}, S::other},
    {"add rsp, rax", {0x48, 0x01, 0xc4}, S::load},
    {"add rax, rsp", {0x48, 0x01, 0xe0}, S::other},
    {"add r12, rax", {0x49, 0x01, 0xc4}, S::other},
    {"add rsp, [rdi]", {0x48, 0x03, 0x27}, S::load},
    {"ret", {0xc3}, S::other},
    {"mov rbp, rsp", {0x48, 0x89, 0xe5}, S::set_frame},
    {"mov rbp, rsp, the other way", {0x48, 0x8b, 0xec}, S::set_frame},
    {"mov rbp, rcx, the other way", {0x48, 0x8b, 0xe9}, S::copy_frame},
    {"lea rbp, [rsp + 0xe0]", {0x48, 0x8d, 0xac, 0x24, 0xe0, 0, 0, 0}, S::set_frame},
    {"lea r13, [rsp]", {0x4c, 0x8d, 0x2c, 0x24}, S::other},
    {"mov rbp, [r10 + 0x400]", {0x49, 0x8b, 0xaa, 0, 4, 0, 0}, S::load_frame},
    {"mov rbp, [rip]", {0x48, 0x8b, 0x2d, 0, 0, 0, 0}, S::load_frame},
    {"mov rbp, [rbp]", {0x48, 0x8b, 0x6d, 0}, S::other},
    {"mov rbp, [rsp + 8]", {0x48, 0x8b, 0x6c, 0x24, 8}, S::peek},
    {"mov r13, [r10]", {0x4d, 0x8b, 0x2a}, S::other},
    {"mov rbp, rax", {0x48, 0x89, 0xc5}, S::copy_frame},
};
INSTANTIATE_TEST_SUITE_P(All, StackUses, testing::ValuesIn(kStackCases));

TEST(Operands, RipRelativeAddressesCountFromTheNextInstruction) {
  const auto lea = decode64(Bytes{0x48, 0x8d, 0x05, 0x10, 0, 0, 0});
  ASSERT_TRUE(lea && lea->address);
  EXPECT_EQ(*lea->address, kIp + 7 + 0x10);
  EXPECT_TRUE(lea->computes);
  const auto jump = decode64(Bytes{0xff, 0x25, 0xfa, 0xff, 0xff, 0xff});
  ASSERT_TRUE(jump && jump->address);
  EXPECT_EQ(*jump->address, kIp);
  EXPECT_FALSE(jump->computes);
  EXPECT_EQ(static_cast<int>(jump->insn.cls), static_cast<int>(InsnClass::ijmp));
}

TEST(Operands, AbsoluteAddressesAreTold) {
  // mov eax, [0x404040]
  const auto load = decode64(Bytes{0x8b, 0x04, 0x25, 0x40, 0x40, 0x40, 0});
  ASSERT_TRUE(load && load->address);
  EXPECT_EQ(*load->address, 0x404040);
}

TEST(Operands, AddressesThatDependOnARegisterAreNone) {
  const auto indexed = decode64(Bytes{0xff, 0x24, 0xc5, 0x40, 0x40, 0x40, 0});
  ASSERT_TRUE(indexed);
  EXPECT_FALSE(indexed->address);  // jmp [rax*8 + 0x404040]
  const auto thread = decode64(Bytes{0x64, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0});
  ASSERT_TRUE(thread);
  EXPECT_FALSE(thread->address);  // mov eax, fs:[0x28]
}

TEST(Operands, ImmediatesOf32BitsAndMoreAreTold) {
  const auto move = decode64(Bytes{0xbf, 0x40, 0x10, 0x40, 0});
  ASSERT_TRUE(move && move->immediate);
  EXPECT_EQ(*move->immediate, 0x401040);
  const auto wide = decode64(Bytes{0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_TRUE(wide && wide->immediate);
  EXPECT_EQ(*wide->immediate, 0x0807060504030201);
  const auto call = decode64(Bytes{0xe8, 0, 0, 0, 0});
  ASSERT_TRUE(call);
  EXPECT_FALSE(call->immediate);
  EXPECT_FALSE(decode64(Bytes{0x48, 0x83, 0xc4, 0x08})->immediate);
}

TEST(Operands, ReturnsThatTakeMoreOffTheStackAreTold) {
  EXPECT_TRUE(decode64({0xc2, 0x0c, 0})->releases);
  EXPECT_FALSE(decode64({0xc3})->releases);
}

TEST(Operands, AddressesIn32BitCodeAreAbsolute) {
  const auto jump = decode32({0xff, 0x25, 0xfa, 0xff, 0xff, 0xff});  // jmp [0xfffffffa]
  ASSERT_TRUE(jump && jump->address);
  EXPECT_EQ(*jump->address, 0xfffffffa);
  EXPECT_FALSE(jump->distance);
  EXPECT_EQ(decode32({0xb8, 0, 0, 0, 0xf0})->immediate, 0xf0000000);   // mov eax, 0xf0000000
  EXPECT_FALSE(decode32({0x67, 0x8b, 0x05})->address);                 // mov eax, [di]
  EXPECT_FALSE(decode32({0x65, 0xff, 0x15, 0x10, 0, 0, 0})->address);  // call gs:[0x10]
}

TEST(Operands, DistancesFromARegisterAreToldOf32BitCode) {
  struct {
    const char* what;
    Bytes bytes;
    std::optional<std::int32_t> distance;
    bool indexed, based;
  } const cases[] = {
      {"lea eax, [ebx-0x100]", {0x8d, 0x83, 0, 0xff, 0xff, 0xff}, -0x100, false, true},
      {"mov eax, [ebx+ecx*4-2]", {0x8b, 0x84, 0x8b, 0xfe, 0xff, 0xff, 0xff}, -2, true, true},
      {"jmp [eax*4+0x1000]", {0xff, 0x24, 0x85, 0, 0x10, 0, 0}, 0x1000, true, false},
      {"call [ebx+0x10]", {0xff, 0x93, 0x10, 0, 0, 0}, 0x10, false, true},
      {"call [ebx+0x10], short", {0xff, 0x53, 0x10}, std::nullopt, false, false},
      {"lea eax, [esp+0x100]", {0x8d, 0x84, 0x24, 0, 1, 0, 0}, std::nullopt, false, true},
      {"lea eax, [ebx+ecx]", {0x8d, 0x04, 0x0b}, std::nullopt, false, false},
      {"call gs:[eax+0x100]", {0x65, 0xff, 0x90, 0, 1, 0, 0}, std::nullopt, false, false},
  };
  for (const auto& c : cases) {
    const auto insn = decode32(c.bytes);
    ASSERT_TRUE(insn) << c.what;
    EXPECT_EQ(insn->insn.length, c.bytes.size()) << c.what;
    EXPECT_EQ(insn->distance, c.distance) << c.what;
    if (!c.distance) continue;
    EXPECT_EQ(insn->indexed, c.indexed) << c.what;
    EXPECT_EQ(insn->based, c.based) << c.what;
  }
  EXPECT_FALSE(decode64({0x8d, 0x83, 0, 0xff, 0xff, 0xff})->distance);
}

TEST(Operands, CutOffInstructionsAreNone) {
  EXPECT_FALSE(decode64(Bytes{0x48, 0x8d, 0x05, 0x10, 0, 0}));
  EXPECT_FALSE(decode64(Bytes{}));
}

}  // namespace
}  // namespace hodo::isa
