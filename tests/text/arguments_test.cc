// Arguments that functions read, and that calls can have set.
#include "arguments.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "elf_builder.h"
#include "hodo/text/module.h"
#include "plain_frames.h"

namespace hodo::text {
namespace {

constexpr unsigned kRdi = 1, kRsi = 2, kRdx = 4, kAll = 63;

Bytes file_of(const Bytes& code) {
  ElfBuilder elf;
  elf.entry = kText;
  elf.text = code;
  elf.functions = {{.begin = kText, .end = kText + code.size()}};
  return elf.build();
}

ArgumentsRead read_by(const Bytes& code) {
  const auto module = Module::analyze(file_of(code));
  if (!module) ADD_FAILURE() << module.error().message;
  return module ? (*module)->arguments_read(kText) : ArgumentsRead{};
}

TEST(ArgumentsRead, OnAllWays) {
  EXPECT_EQ(read_by({0x85, 0xff,  // 1000 test edi, edi
                     0x74, 0x03,  // 1002 jz 1007
                     0x01, 0xf2,  // 1004 add edx, esi
                     0xc3,        // 1006 ret
                     0x01, 0xd6,  // 1007 add esi, edx
                     0x01, 0xce,  // 1009 add esi, ecx
                     0xc3})       // 100b ret
                .values,
            kRdi | kRsi | kRdx);
}

TEST(ArgumentsRead, NotBehindACallOrAJumpBackOrOutOfTheFunction) {
  EXPECT_EQ(read_by({0x0f, 0x1f, 0x00,              // 1000 nop [rax]
                     0x01, 0xff,                    // 1003 add edi, edi
                     0xe8, 0xf6, 0xff, 0xff, 0xff,  // 1005 call 1000
                     0x01, 0xf6, 0xc3})             // 100a add esi, esi; ret
                .values,
            kRdi);
  EXPECT_EQ(read_by({0x85, 0xff, 0x75, 0xfc, 0x85, 0xf6, 0xc3}).values, kRdi)
      << "test edi, edi; jnz back; test esi, esi; ret";
  EXPECT_EQ(read_by({0x85, 0xff, 0xe9, 0, 0x10, 0, 0}).values, kRdi) << "test edi, edi; jmp out";
}

TEST(ArgumentsRead, NotWhatIsPutThereFirst) {
  EXPECT_EQ(read_by({0x31, 0xff, 0x01, 0xf7, 0xc3}).values, kRsi) << "xor edi, edi; add edi, esi";
  EXPECT_EQ(read_by({0xb2, 0x01, 0x01, 0xd2, 0xc3}).values, 0) << "mov dl, 1; add edx, edx";
}

TEST(ArgumentsRead, NotByCpuidWhichMayNotHaveAskedForIt) {
  EXPECT_EQ(read_by({0x0f, 0xa2, 0xc3}).values, 0) << "cpuid; ret";
  constexpr unsigned kRcx = 8;
  EXPECT_EQ(read_by({0x01, 0xc8, 0x0f, 0xa2, 0xc3}).values, kRcx) << "add eax, ecx; cpuid; ret";
}

TEST(ArgumentsRead, PointersApartFromValues) {
  const auto read = read_by({0x8b, 0x07, 0x39, 0xf0, 0xc3});  // mov eax, [rdi]; cmp eax, esi; ret
  EXPECT_EQ(read.pointers, kRdi);
  EXPECT_EQ(read.values, kRdi | kRsi);
  EXPECT_EQ(read_by({0xff, 0x67, 0x08}).pointers, kRdi) << "jmp [rdi+8]";
}

TEST(ArgumentsRead, WhatIsOnlyHandedOnIsNot) {
  EXPECT_EQ(read_by({0x57, 0x48, 0x89, 0x74, 0x24, 0xf8, 0x48, 0x89, 0xd3, 0x48, 0x89, 0x08, 0xc3})
                .values,
            0)
      << "push rdi; mov [rsp-8], rsi; mov rbx, rdx; mov [rax], rcx; ret";
  EXPECT_EQ(read_by({0x48, 0x89, 0xfb, 0x8b, 0x03, 0xc3}).pointers, kRdi)
      << "mov rbx, rdi; mov eax, [rbx]; ret";
}

TEST(ArgumentsRead, FromTheFrameWithoutOptimisation) {
  EXPECT_EQ(read_by({0x55,                    // push rbp
                     0x48, 0x89, 0xe5,        // mov rbp, rsp
                     0x48, 0x89, 0x7d, 0xf8,  // mov [rbp-8], rdi
                     0x89, 0x75, 0xf4,        // mov [rbp-12], esi
                     0x89, 0x55, 0xf0,        // mov [rbp-16], edx
                     0x48, 0x8b, 0x45, 0xf8,  // mov rax, [rbp-8]
                     0x8b, 0x10,              // mov edx, [rax]
                     0x8b, 0x45, 0xf4,        // mov eax, [rbp-12]
                     0x01, 0xd0,              // add eax, edx
                     0x5d, 0xc3})             // pop rbp; ret
                .values,
            kRdi | kRsi);
}

class ArgumentsSetTest : public testing::Test {
 protected:
  // At the last instruction, CALL RAX. Calls lead out of the file if they are CALL 0.
  static ArgumentsSet set_by(Bytes code, Marks more = 0, std::uint64_t more_at = 0) {
    const std::uint64_t last = kText + code.size();
    code.insert(code.end(), {0xff, 0xd0});
    const Bytes file = file_of(code);
    const auto elf = ElfBytes::read(file);
    auto text = TextMap::make(elf.value());
    EXPECT_TRUE(text);
    if (!text) return {};
    text->unmark();
    for (std::uint64_t at = kText; at < kText + code.size();) {
      const auto insn = isa::decode(text->bytes(at), at, isa::Mode::bits64);
      if (!insn) break;
      text->mark(at, kInsn);
      if (insn->cls == isa::InsnClass::cond) {
        text->mark(insn->target, kLeader);
        text->mark(at + insn->length, kLeader);
      }
      at += insn->length;
    }
    if (more != 0) text->mark(more_at, more);
    const Function function{.begin = kText, .end = kText + code.size()};
    return arguments_set(*text, std::span(&function, 1), last, [&](std::uint64_t call) {
      const auto insn = isa::decode(text->bytes(call), call, isa::Mode::bits64);
      return insn && insn->cls == isa::InsnClass::call && insn->target == 0;
    });
  }

  static Bytes join(std::initializer_list<Bytes> parts) {
    Bytes out;
    for (const Bytes& part : parts) append(out, part);
    return out;
  }
};

// call 0, by where it lies.
Bytes call_out(std::size_t at) {
  Bytes out = {0xe8};
  append(out, static_cast<std::int32_t>(-(std::int64_t{0x1000} + std::int64_t(at) + 5)));
  return out;
}
const Bytes kEsiIsOne = {0xbe, 1, 0, 0, 0};  // mov esi, 1

TEST_F(ArgumentsSetTest, WhatItsFunctionWasGivenMayBePassedOn) {
  const ArgumentsSet set = set_by({0x90});
  EXPECT_EQ(set.set, kAll);
  EXPECT_FALSE(set.unprototyped);
}

TEST_F(ArgumentsSetTest, NothingIsLeftByACallOfAnotherFile) {
  const ArgumentsSet set = set_by(join({call_out(0), kEsiIsOne}));
  EXPECT_EQ(set.set, kRsi);
  EXPECT_TRUE(set.returned);
  const ArgumentsSet own = set_by({0xe8, 0xfb, 0xff, 0xff, 0xff});
  EXPECT_EQ(own.set, kAll) << "GCC may know what a function of this file keeps";
}

TEST_F(ArgumentsSetTest, OneWayThatSetsItIsEnough) {
  const ArgumentsSet set = set_by(join({call_out(0),
                                        {0x85, 0xc0, 0x74, 0x05},  // test eax, eax; jz
                                        kEsiIsOne,
                                        {0x31, 0xff}}));  // xor edi, edi
  EXPECT_EQ(set.set, kRdi | kRsi);
}

TEST_F(ArgumentsSetTest, WhereSomethingLeadsFromElsewhereAllMayBeSet) {
  for (const Marks mark : {kLeader, kTableTarget, kTaken, kLanding}) {
    EXPECT_EQ(set_by(join({call_out(0), kEsiIsOne}), mark, kText + 5).set, kAll);
  }
}

TEST_F(ArgumentsSetTest, AlsoToCodeThatNothingIsSeenToLeadTo) {
  const Bytes kJumps = {0xeb, 0x02};        // jmp over what follows
  const Bytes kNops = {0x66, 0x90};         // of two bytes
  const Bytes kUnknownCase = {0x89, 0xc2};  // mov edx, eax
  EXPECT_EQ(set_by(join({call_out(0), kJumps, kNops, kEsiIsOne})).set, kRsi);
  EXPECT_EQ(set_by(join({call_out(0), kJumps, kUnknownCase, kEsiIsOne})).set, kAll);
}

TEST_F(ArgumentsSetTest, ANumberInRaxIsForAnyArguments) {
  EXPECT_TRUE(set_by(join({call_out(0), {0x31, 0xc0}})).unprototyped) << "xor eax, eax";
  EXPECT_FALSE(set_by(join({call_out(0), {0x31, 0xc0, 0x48, 0x8b, 0x07}})).unprototyped)
      << "xor eax, eax; mov rax, [rdi]";
}

const Bytes kFramesTwo = {0x55,                    // push rbp
                          0x48, 0x89, 0xe5,        // mov rbp, rsp
                          0x48, 0x83, 0xec, 0x10,  // sub rsp, 16
                          0x89, 0x7d, 0xfc,        // mov [rbp-4], edi
                          0x48, 0x89, 0x75, 0xf0,  // mov [rbp-16], rsi
                          0x48, 0x8b, 0x45, 0xf0,  // mov rax, [rbp-16]
                          0x48, 0x8b, 0x00};       // mov rax, [rax]

TEST_F(ArgumentsSetTest, WithoutOptimisationAFunctionHasWhatItFrames) {
  EXPECT_EQ(set_by(kFramesTwo).set, kRdi | kRsi);
  const ArgumentsSet behind = set_by(join({kFramesTwo, {0xe8, 0, 0, 0, 0}, kEsiIsOne}));
  EXPECT_EQ(behind.set, kRsi) << "no call keeps anything there";
  EXPECT_FALSE(behind.returned);
}

TEST_F(ArgumentsSetTest, WhatWorksWithMoreRegistersWasOptimised) {
  const Bytes kUsesR12 = {0x49, 0x89, 0xfc};             // mov r12, rdi
  const Bytes kTellsOfFirst = {0x48, 0x8d, 0x7d, 0xfc};  // lea rdi, [rbp-4]
  EXPECT_EQ(set_by(join({kFramesTwo, kUsesR12})).set, kAll);
  EXPECT_EQ(set_by(join({kFramesTwo, kTellsOfFirst})).set, kAll);
  Bytes reads_register = kFramesTwo;
  reads_register.insert(reads_register.end(), {0x85, 0xff});  // test edi, edi
  EXPECT_EQ(set_by(reads_register).set, kAll);
}

}  // namespace
}  // namespace hodo::text
