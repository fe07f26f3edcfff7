// Every class of instruction, in the modes where it exists, as encodings written by hand from the
// SDM's opcode tables.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hodo/isa/insn.h"

namespace hodo::isa {
namespace {

using Bytes = std::vector<std::uint8_t>;
using C = InsnClass;

constexpr Mode m16 = Mode::bits16, m32 = Mode::bits32, m64 = Mode::bits64;
constexpr std::uint64_t kIp = 0x401000;

struct Case {
  const char* what;
  Bytes bytes;
  Mode mode;
  C cls;
  std::uint64_t target = 0;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.what; }

class Classes : public testing::TestWithParam<Case> {};

TEST_P(Classes, LengthClassAndTarget) {
  const Case& c = GetParam();
  Bytes padded = c.bytes;
  padded.resize(15, 0x90);  // what follows must not matter
  const auto insn = decode(padded, kIp, c.mode);
  ASSERT_TRUE(insn);
  EXPECT_EQ(insn->length, c.bytes.size());
  EXPECT_EQ(static_cast<int>(insn->cls), static_cast<int>(c.cls));
  EXPECT_EQ(insn->target, c.target);
}

TEST_P(Classes, CutOffAnywhereIsNoInstruction) {
  const Case& c = GetParam();
  for (std::size_t size = 0; size < c.bytes.size(); ++size) {
    const Bytes cut(c.bytes.begin(), c.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(decode(cut, kIp, c.mode)) << size << " bytes";
  }
}

const Case kBranches[] = {
    {"jz rel8", {0x74, 0x10}, m64, C::cond, kIp + 0x12},
    {"jz rel8 back", {0x74, 0xfe}, m64, C::cond, kIp},
    {"jz rel8 hinted", {0x3e, 0x74, 0x10}, m64, C::cond, kIp + 0x13},
    {"jnz rel32", {0x0f, 0x85, 0, 1, 0, 0}, m64, C::cond, kIp + 0x106},
    {"jnz rel32 in 32", {0x0f, 0x85, 0, 1, 0, 0}, m32, C::cond, kIp + 0x106},
    {"jnz rel16 in 16", {0x0f, 0x85, 0, 1}, m16, C::cond, kIp + 0x104},
    {"bnd jnz rel32", {0xf2, 0x0f, 0x85, 0, 1, 0, 0}, m64, C::cond, kIp + 0x107},
    {"jrcxz", {0xe3, 0x02}, m64, C::cond, kIp + 4},
    {"jecxz in 64", {0x67, 0xe3, 0x02}, m64, C::cond, kIp + 5},
    {"jecxz", {0xe3, 0x02}, m32, C::cond, kIp + 4},
    {"jcxz", {0xe3, 0x02}, m16, C::cond, kIp + 4},
    {"loopne", {0xe0, 0x80}, m64, C::cond, kIp + 2 - 0x80},
    {"loope", {0xe1, 0x80}, m64, C::cond, kIp + 2 - 0x80},
    {"loop", {0xe2, 0x80}, m32, C::cond, kIp + 2 - 0x80},
    {"jmp rel8", {0xeb, 0x7f}, m64, C::jmp, kIp + 0x81},
    {"jmp rel32", {0xe9, 0xfb, 0xff, 0xff, 0xff}, m64, C::jmp, kIp},
    {"jmp rel32 in 32", {0xe9, 0xfb, 0xff, 0xff, 0xff}, m32, C::jmp, kIp},
    {"jmp rel16 in 16", {0xe9, 0xfd, 0xff}, m16, C::jmp, kIp},
    {"jmp rel32 in 16", {0x66, 0xe9, 0, 0, 1, 0}, m16, C::jmp, kIp + 0x10006},
    {"jmp rel16 in 32", {0x66, 0xe9, 0xfc, 0xff}, m32, C::jmp, kIp},
    {"66 jmp in 64 is rel32 on Intel", {0x66, 0xe9, 0, 0, 0, 0}, m64, C::jmp, kIp + 6},
    {"66 jz in 64 is rel32 on Intel", {0x66, 0x0f, 0x84, 0, 0, 0, 0}, m64, C::cond, kIp + 7},
    {"66 call in 64 is rel32 on Intel", {0x66, 0xe8, 0, 0, 0, 0}, m64, C::call, kIp + 6},
    {"jmp wraps in 32", {0xe9, 0, 0, 0, 0x90}, m32, C::jmp, 0x90401005},
    {"jmp below zero wraps in 32", {0xe9, 0, 0, 0, 0x80}, m32, C::jmp, 0x80401005},
    {"jmp below zero in 64", {0xe9, 0, 0, 0, 0x80}, m64, C::jmp, 0xffffffff80401005},
    {"jmp rax", {0xff, 0xe0}, m64, C::ijmp},
    {"notrack jmp rax", {0x3e, 0xff, 0xe0}, m64, C::ijmp},
    {"jmp [rip+x]", {0xff, 0x25, 1, 2, 3, 4}, m64, C::ijmp},
    {"jmp [x]", {0xff, 0x25, 1, 2, 3, 4}, m32, C::ijmp},
    {"66 jmp rax", {0x66, 0xff, 0xe0}, m64, C::ijmp},
    {"jmpabs", {0xd5, 0x00, 0xa1, 1, 2, 3, 4, 5, 6, 7, 8}, m64, C::ijmp},
    {"call rel32", {0xe8, 0, 0, 0, 0}, m64, C::call, kIp + 5},
    {"call rel16", {0xe8, 0, 0}, m16, C::call, kIp + 3},
    {"call r11", {0x41, 0xff, 0xd3}, m64, C::icall},
    {"call [eax+8]", {0xff, 0x50, 8}, m32, C::icall},
    {"ret", {0xc3}, m64, C::ret},
    {"rep ret", {0xf3, 0xc3}, m64, C::ret},
    {"bnd ret", {0xf2, 0xc3}, m64, C::ret},
    {"ret imm16", {0xc2, 8, 0}, m32, C::ret},
};
INSTANTIATE_TEST_SUITE_P(Branches, Classes, testing::ValuesIn(kBranches));

const Case kFarTransfers[] = {
    {"jmp ptr16:32", {0xea, 0, 0, 0, 0, 0x33, 0}, m32, C::far_jmp},
    {"jmp ptr16:16", {0xea, 0, 0, 0x33, 0}, m16, C::far_jmp},
    {"jmp m16:32", {0xff, 0x28}, m64, C::far_jmp},
    {"jmp m16:64", {0x48, 0xff, 0x28}, m64, C::far_jmp},
    {"call ptr16:32", {0x9a, 0, 0, 0, 0, 0x33, 0}, m32, C::far_call},
    {"call m16:64", {0x48, 0xff, 0x18}, m64, C::far_call},
    {"retf", {0xcb}, m64, C::far_ret},
    {"retfq", {0x48, 0xcb}, m64, C::far_ret},
    {"retf imm16", {0xca, 4, 0}, m32, C::far_ret},
    {"syscall", {0x0f, 0x05}, m64, C::syscall},
    {"sysenter", {0x0f, 0x34}, m32, C::syscall},
    {"sysenter in 64", {0x0f, 0x34}, m64, C::syscall},
    {"sysret", {0x0f, 0x07}, m64, C::sysret},
    {"sysretq", {0x48, 0x0f, 0x07}, m64, C::sysret},
    {"sysexit", {0x0f, 0x35}, m64, C::sysret},
    {"int 0x80", {0xcd, 0x80}, m32, C::int_},
    {"int 0x80 in 64", {0xcd, 0x80}, m64, C::int_},
    {"int3", {0xcc}, m64, C::int_},
    {"int1", {0xf1}, m64, C::int_},
    {"into", {0xce}, m32, C::int_},
    {"iret", {0xcf}, m16, C::iret},
    {"iretd", {0xcf}, m32, C::iret},
    {"iretq", {0x48, 0xcf}, m64, C::iret},
    {"uiret", {0xf3, 0x0f, 0x01, 0xec}, m64, C::iret},
    {"erets", {0xf2, 0x0f, 0x01, 0xca}, m64, C::iret},
    {"eretu", {0xf3, 0x0f, 0x01, 0xca}, m64, C::iret},
    {"eretu with rex", {0xf3, 0x48, 0x0f, 0x01, 0xca}, m64, C::iret},
    {"clac", {0x0f, 0x01, 0xca}, m64, C::other},
};
INSTANTIATE_TEST_SUITE_P(FarTransfers, Classes, testing::ValuesIn(kFarTransfers));

const Case kWithPackets[] = {
    {"xbegin", {0xc7, 0xf8, 4, 0, 0, 0}, m64, C::xbegin, kIp + 10},
    {"xbegin rel16", {0x66, 0xc7, 0xf8, 4, 0}, m64, C::xbegin, kIp + 9},
    {"xabort", {0xc6, 0xf8, 1}, m64, C::xabort},
    {"xend", {0x0f, 0x01, 0xd5}, m64, C::other},
    {"vmlaunch", {0x0f, 0x01, 0xc2}, m64, C::vmentry},
    {"vmresume", {0x0f, 0x01, 0xc3}, m64, C::vmentry},
    {"vmcall", {0x0f, 0x01, 0xc1}, m64, C::vmexit},
    {"vmfunc stays in the guest", {0x0f, 0x01, 0xd4}, m64, C::other},
    {"mov cr3, rax", {0x0f, 0x22, 0xd8}, m64, C::mov_cr3},
    {"mov cr3, r8", {0x41, 0x0f, 0x22, 0xd8}, m64, C::mov_cr3},
    {"mov cr3, eax", {0x0f, 0x22, 0xdb}, m32, C::mov_cr3},
    {"mov rax, cr3", {0x0f, 0x20, 0xd8}, m64, C::other},
    {"mov cr4, rax", {0x0f, 0x22, 0xe0}, m64, C::other},
    {"ptwrite rax", {0xf3, 0x48, 0x0f, 0xae, 0xe0}, m64, C::ptwrite},
    {"ptwrite [rax]", {0xf3, 0x0f, 0xae, 0x20}, m64, C::ptwrite},
};
INSTANTIATE_TEST_SUITE_P(WithPackets, Classes, testing::ValuesIn(kWithPackets));

const Case kOther[] = {
    {"nop", {0x90}, m64, C::other},
    {"long nop", {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, m64, C::other},
    {"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}, m64, C::other},
    {"push", {0xff, 0x30}, m64, C::other},
    {"rep movsb", {0xf3, 0xa4}, m64, C::other},
    {"hlt", {0xf4}, m64, C::other},
    {"ud2", {0x0f, 0x0b}, m64, C::other},
    {"setz", {0x0f, 0x94, 0xc0}, m64, C::other},
    {"cmovz", {0x0f, 0x44, 0xc0}, m64, C::other},
    {"mov rax, imm64", {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, m64, C::other},
    {"dec eax, a REX prefix in 64", {0x48}, m32, C::other},
    {"vex add", {0xc5, 0xf5, 0xfe, 0xc2}, m64, C::other},
    {"evex add", {0x62, 0xf1, 0x75, 0x48, 0xfe, 0xc2}, m64, C::other},
    {"fifteen bytes",
     {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x12, 0, 0, 0, 0},
     m64,
     C::other},
};
INSTANTIATE_TEST_SUITE_P(Other, Classes, testing::ValuesIn(kOther));

TEST(Decode, RefusesWhatIsNoInstruction) {
  EXPECT_FALSE(decode(Bytes{0x06, 0x90, 0x90}, kIp, m64)) << "push es";
  EXPECT_FALSE(decode(Bytes{0xce, 0x90}, kIp, m64)) << "into";
  EXPECT_FALSE(decode(Bytes{0xea, 0, 0, 0, 0, 0, 0}, kIp, m64)) << "direct far jmp";
  EXPECT_FALSE(decode(Bytes{0xff, 0xff, 0xff}, kIp, m64)) << "FF /7";
  EXPECT_FALSE(decode(Bytes(16, 0x66), kIp, m64)) << "more than 15 bytes";
  EXPECT_FALSE(decode({}, kIp, m64));
}

TEST(Decode, ModeChangesTheInstruction) {
  const Bytes b{0xb8, 1, 2, 3, 4};  // mov ax, imm16 or mov eax, imm32
  EXPECT_EQ(decode(b, kIp, m16)->length, 3);
  EXPECT_EQ(decode(b, kIp, m32)->length, 5);
}

TEST(Decode, TargetsWrapWithTheAddressSpace) {
  const Bytes b{0xeb, 0x7e};
  EXPECT_EQ(decode(b, 0xffffffc0, m32)->target, 0x40u);
  EXPECT_EQ(decode(b, 0xffffffffffffffc0, m64)->target, 0x40u);
  EXPECT_EQ(decode(b, 0xf7ff0, m16)->target, 0xf8070u) << "linear, segment base included";
}

}  // namespace
}  // namespace hodo::isa
