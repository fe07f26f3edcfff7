// What a function may have put into the register that it calls through: Module::may_call().
#include <gtest/gtest.h>

#include "elf_builder.h"
#include "hodo/text/module.h"

namespace hodo::text {
namespace {

using Addresses = std::vector<std::uint64_t>;

// Of the last instruction of a function with this code, CALL or JMP REG. Behind it, at 1080 and
// 1090, lie two others.
enum class Bounds : bool { told, untold };  // whether the file says where the function begins
Addresses called(Bytes code, std::size_t last = 2, Bounds bounds = Bounds::told) {
  const std::uint64_t at = kText + code.size() - last;
  ElfBuilder elf;
  elf.entry = kText;
  const std::uint64_t end = kText + code.size();
  code.resize(0x80, 0xcc);
  code.insert(code.end(), {0xc3});
  code.resize(0x90, 0xcc);
  code.insert(code.end(), {0xc3});
  elf.text = code;
  elf.functions = {{.begin = kText, .end = end},
                   {.begin = 0x1080, .end = 0x1081},
                   {.begin = 0x1090, .end = 0x1091}};
  if (bounds == Bounds::untold) elf.functions.erase(elf.functions.begin());
  const auto module = Module::analyze(elf.build());
  if (!module) {
    ADD_FAILURE() << module.error().message;
    return {};
  }
  return (*module)->may_call(at).addresses;
}

TEST(RegisterFlow, OneOfTwoByABranch) {
  EXPECT_EQ(called({
                0x48, 0x8d, 0x05, 0x79, 0x00, 0x00, 0x00,  // 1000 lea rax, [1080]
                0x85, 0xff,                                // 1007 test edi, edi
                0x74, 0x07,                                // 1009 jz 1012
                0x48, 0x8d, 0x05, 0x7e, 0x00, 0x00, 0x00,  // 100b lea rax, [1090]
                0xff, 0xd0,                                // 1012 call rax
            }),
            (Addresses{0x1080, 0x1090}));
}

TEST(RegisterFlow, OneOfTwoInCodeOfWhichNothingSaysWhereItBegins) {
  EXPECT_EQ(called(
                {
                    0x48, 0x8d, 0x05, 0x79, 0x00, 0x00, 0x00,  // 1000 lea rax, [1080]
                    0x85, 0xff,                                // 1007 test edi, edi
                    0x74, 0x07,                                // 1009 jz 1012
                    0x48, 0x8d, 0x05, 0x7e, 0x00, 0x00, 0x00,  // 100b lea rax, [1090]
                    0xff, 0xd0,                                // 1012 call rax
                },
                2, Bounds::untold),
            (Addresses{0x1080, 0x1090}));
}

TEST(RegisterFlow, OneOfTwoByAConditionalMove) {
  EXPECT_EQ(called(
                {
                    0x48, 0x8d, 0x05, 0x79, 0x00, 0x00, 0x00,  // 1000 lea rax, [1080]
                    0x48, 0x8d, 0x15, 0x82, 0x00, 0x00, 0x00,  // 1007 lea rdx, [1090]
                    0x85, 0xff,                                // 100e test edi, edi
                    0x48, 0x0f, 0x45, 0xc2,                    // 1010 cmovnz rax, rdx
                    0x49, 0x89, 0xc2,                          // 1014 mov r10, rax
                    0x41, 0xff, 0xe2,                          // 1017 jmp r10
                },
                3),
            (Addresses{0x1080, 0x1090}));
}

// Of a call whose pointer is in [RBP-8], and of one by RAX that is read from there.
Addresses called_by_frame(Bytes code) {
  const Bytes by_memory = {0xff, 0x55, 0xf8};                      // call [rbp-8]
  const Bytes by_register = {0x48, 0x8b, 0x45, 0xf8, 0xff, 0xd0};  // mov rax, [rbp-8]; call rax
  Bytes other = code;
  code.insert(code.end(), by_memory.begin(), by_memory.end());
  other.insert(other.end(), by_register.begin(), by_register.end());
  Addresses out = called(code, by_memory.size());
  EXPECT_EQ(called(other), out);
  return out;
}

TEST(RegisterFlow, ByAPlaceInTheFrameThatIsStoredToOnce) {
  EXPECT_EQ(called_by_frame({
                0x48, 0x8d, 0x05, 0x79, 0x00, 0x00, 0x00,        // 1000 lea rax, [1080]
                0x48, 0x89, 0x45, 0xf8,                          // 1007 mov [rbp-8], rax
                0xe8, 0x70, 0x00, 0x00, 0x00,                    // 100b call 1080
                0x48, 0xc7, 0x45, 0xf0, 0x00, 0x00, 0x00, 0x00,  // 1010 mov qword [rbp-16], 0
            }),
            (Addresses{0x1080}));
}

TEST(RegisterFlow, ByAPlaceInTheFrameFromAnother) {
  EXPECT_EQ(called_by_frame({
                0x48, 0x8d, 0x05, 0x79, 0x00, 0x00, 0x00,  // 1000 lea rax, [1080]
                0x48, 0x89, 0x45, 0xe8,                    // 1007 mov [rbp-24], rax
                0x48, 0x8b, 0x4d, 0xe8,                    // 100b mov rcx, [rbp-24]
                0x48, 0x89, 0x4d, 0xf8,                    // 100f mov [rbp-8], rcx
            }),
            (Addresses{0x1080}));
}

TEST(RegisterFlow, NotByAPlaceInTheFrameThatOneWayLeavesOut) {
  EXPECT_EQ(called_by_frame({
                0x48, 0x8d, 0x05, 0x79, 0x00, 0x00, 0x00,  // 1000 lea rax, [1080]
                0x85, 0xff,                                // 1007 test edi, edi
                0x74, 0x04,                                // 1009 jz 100f
                0x48, 0x89, 0x45, 0xf8,                    // 100b mov [rbp-8], rax
            }),
            Addresses());
}

// Which of two it is, others can have chosen.
TEST(RegisterFlow, NotByAPlaceInTheFrameWithOneOfTwo) {
  EXPECT_EQ(called_by_frame({
                0x48, 0x8d, 0x05, 0x79, 0x00, 0x00, 0x00,  // 1000 lea rax, [1080]
                0x48, 0x89, 0x45, 0xf8,                    // 1007 mov [rbp-8], rax
                0x85, 0xff,                                // 100b test edi, edi
                0x74, 0x0b,                                // 100d jz 101a
                0x48, 0x8d, 0x05, 0x7a, 0x00, 0x00, 0x00,  // 100f lea rax, [1090]
                0x48, 0x89, 0x45, 0xf8,                    // 1016 mov [rbp-8], rax
            }),
            Addresses());
}

TEST(RegisterFlow, NotByAPlaceInTheFrameThatHeldAnother) {
  EXPECT_EQ(called_by_frame({
                0x48, 0x8d, 0x05, 0x79, 0x00, 0x00, 0x00,  // 1000 lea rax, [1080]
                0x48, 0x89, 0x45, 0xf8,                    // 1007 mov [rbp-8], rax
                0xc7, 0x45, 0xfc, 0x00, 0x00, 0x00, 0x00,  // 100b mov dword [rbp-4], 0
            }),
            Addresses());
  EXPECT_EQ(called_by_frame({
                0x48, 0x8d, 0x05, 0x79, 0x00, 0x00, 0x00,  // 1000 lea rax, [1080]
                0x48, 0x89, 0x45, 0xf8,                    // 1007 mov [rbp-8], rax
                0x0f, 0x11, 0x45, 0xec,                    // 100b movups [rbp-20], xmm0
            }),
            Addresses());
  EXPECT_EQ(called_by_frame({
                0x48, 0x8d, 0x05, 0x79, 0x00, 0x00, 0x00,  // 1000 lea rax, [1080]
                0x48, 0x89, 0x45, 0xf8,                    // 1007 mov [rbp-8], rax
                0x48, 0x83, 0xc5, 0x08,                    // 100b add rbp, 8
            }),
            Addresses());
}

// Code that nothing is known to lead to comes from where nobody knows what was stored.
TEST(RegisterFlow, NotByAPlaceInTheFrameOnAnUnknownWay) {
  EXPECT_EQ(called_by_frame({
                0xff, 0xe7,                                // 1000 jmp rdi
                0x85, 0xff,                                // 1002 test edi, edi
                0xeb, 0x0b,                                // 1004 jmp 1011
                0x48, 0x8d, 0x05, 0x73, 0x00, 0x00, 0x00,  // 1006 lea rax, [1080]
                0x48, 0x89, 0x45, 0xf8,                    // 100d mov [rbp-8], rax
            }),
            Addresses());
}

TEST(RegisterFlow, AroundALoop) {
  EXPECT_EQ(called({
                0xeb, 0x0a,                                // 1000 jmp 100c
                0x48, 0x8d, 0x1d, 0x77, 0x00, 0x00, 0x00,  // 1002 lea rbx, [1080]
                0x48, 0x89, 0xd8,                          // 1009 mov rax, rbx
                0x85, 0xff,                                // 100c test edi, edi
                0x74, 0xf2,                                // 100e jz 1002
                0xff, 0xd0,                                // 1010 call rax
            }),
            (Addresses{0x1080}));
}

// What is loaded from elsewhere, or what a call leaves, is nobody's.
TEST(RegisterFlow, NotBehindAnotherValue) {
  EXPECT_EQ(called({
                0x48, 0x8d, 0x05, 0x79, 0x00, 0x00, 0x00,  // 1000 lea rax, [1080]
                0x48, 0x8b, 0x07,                          // 1007 mov rax, [rdi]
                0xff, 0xd0,                                // 100a call rax
            }),
            Addresses());
  EXPECT_EQ(called({
                0x48, 0x8d, 0x05, 0x79, 0x00, 0x00, 0x00,  // 1000 lea rax, [1080]
                0xe8, 0x74, 0x00, 0x00, 0x00,              // 1007 call 1080
                0xff, 0xd0,                                // 100c call rax
            }),
            Addresses());
  EXPECT_EQ(called({
                0x48, 0x8d, 0x05, 0x79, 0x00, 0x00, 0x00,  // 1000 lea rax, [1080]
                0x48, 0x83, 0xc0, 0x10,                    // 1007 add rax, 16
                0xff, 0xd0,                                // 100b call rax
            }),
            Addresses());
}

// Behind a jump that never comes here.
TEST(RegisterFlow, NotFromAnotherWay) {
  EXPECT_EQ(called({
                0x48, 0x8d, 0x05, 0x79, 0x00, 0x00, 0x00,  // 1000 lea rax, [1080]
                0xc3,                                      // 1007 ret
                0xff, 0xd0,                                // 1008 call rax
            }),
            Addresses());
}

TEST(RegisterFlow, NumbersOfProgramsThatDoNotMove) {
  EXPECT_EQ(called({
                0xb8, 0x80, 0x10, 0x00, 0x00,              // 1000 mov eax, 1080
                0x48, 0xc7, 0xc2, 0x90, 0x10, 0x00, 0x00,  // 1005 mov rdx, 1090
                0x48, 0x0f, 0x44, 0xc2,                    // 100c cmovz rax, rdx
                0xff, 0xd0,                                // 1010 call rax
            }),
            (Addresses{0x1080, 0x1090}));
}

}  // namespace
}  // namespace hodo::text
