// Which functions take their return address for an argument.
#include "hodo/text/return_address.h"

#include <gtest/gtest.h>

#include <vector>

#include "elf_builder.h"

namespace hodo::text {
namespace {

bool takes(std::vector<std::uint8_t> code) {
  ElfBuilder elf;
  elf.text = std::move(code);
  elf.functions = {{.begin = kText, .end = kText + elf.text.size()}};
  const auto module = Module::analyze(elf.build());
  EXPECT_TRUE(module);
  return module && takes_return_address(**module, kText);
}

TEST(ReturnAddress, IsTakenOffTheStack) {
  EXPECT_TRUE(takes({0x5e, 0x56, 0xc3}));                    // pop rsi; push rsi; ret
  EXPECT_TRUE(takes({0x50, 0x58, 0x5e, 0xff, 0xe6}));        // push; pop; pop rsi; jmp rsi
  EXPECT_TRUE(takes({0x48, 0x83, 0xc4, 0x08, 0xff, 0xe6}));  // add rsp, 8; jmp rsi
  EXPECT_TRUE(takes({0x74, 0x01, 0x5e, 0x56, 0xc3}));        // behind a conditional jump
  EXPECT_TRUE(takes({0xeb, 0x01, 0xc3, 0x5e, 0x56, 0xc3}));  // behind a jump
}

TEST(ReturnAddress, IsWrittenWhereItLies) {
  EXPECT_TRUE(takes({0x48, 0x87, 0x34, 0x24, 0xc3}));              // xchg [rsp], rsi
  EXPECT_TRUE(takes({0x50, 0x48, 0xff, 0x44, 0x24, 0x08, 0xc3}));  // push rax; inc [rsp+8]
  EXPECT_TRUE(takes({0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0x45, 0x08, 8, 0xc3}));  // of a frame
}

TEST(ReturnAddress, IsNotTakenByOneThatReturnsByAJump) {
  EXPECT_FALSE(takes({0x59, 0x0f, 0xae, 0xe8, 0xff, 0xe1}));  // pop rcx; lfence; jmp rcx
  EXPECT_FALSE(takes({0x41, 0x5b, 0x0f, 0xae, 0xe8, 0x41, 0xff, 0xe3}));
  EXPECT_TRUE(takes({0x59, 0x0f, 0xae, 0xe8, 0xff, 0xe2})) << "elsewhere";
  EXPECT_TRUE(takes({0x41, 0x59, 0x0f, 0xae, 0xe8, 0xff, 0xe1})) << "of another register";
  EXPECT_TRUE(takes({0x59, 0x0f, 0xae, 0xe8, 0x90, 0xff, 0xe1}));
}

TEST(ReturnAddress, IsNotTakenByOrdinaryFunctions) {
  EXPECT_FALSE(takes({0xc3}));
  EXPECT_FALSE(takes({0x56, 0x5e, 0xc3}));                    // push rsi; pop rsi; ret
  EXPECT_FALSE(takes({0x48, 0x8b, 0x34, 0x24, 0xc3}));        // mov rsi, [rsp]: reads
  EXPECT_FALSE(takes({0x50, 0x48, 0xff, 0x04, 0x24, 0xc3}));  // push rax; inc [rsp]: its own
  EXPECT_FALSE(takes({0x55, 0x48, 0xff, 0x45, 0x08, 0xc3}));  // [rbp+8] of another frame
  EXPECT_FALSE(takes({0xff, 0xd0, 0x5e, 0xc3})) << "behind a call nothing is certain";
  EXPECT_FALSE(takes({0x48, 0x89, 0xc4, 0x5e, 0xff, 0xe6})) << "another stack";
  EXPECT_FALSE(takes({0xeb, 0xfe})) << "forever";
}

}  // namespace
}  // namespace hodo::text
