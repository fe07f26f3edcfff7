// What an analysis finds in files that no C compiler made: data among the code, tables of runtimes.
#include <gtest/gtest.h>

#include "elf_builder.h"
#include "hodo/text/module.h"

namespace hodo::text {
namespace {

std::shared_ptr<const Module> analyze(const ElfBuilder& elf) {
  auto module = Module::analyze(elf.build());
  if (!module) {
    ADD_FAILURE() << module.error().message;
    return nullptr;
  }
  return *module;
}

TEST(RuntimeModule, WhatADirectBranchLeadsToIsCertainAndDataBeforeItIsNot) {
  ElfBuilder elf;
  elf.entry = kText;
  elf.text = {
      0xeb, 0x07,                                // 1000 jmp 1009
      0x48, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x00,  // 1002 data that reads as mov rax, imm64
      0x90,                                      // 1009 nop
      0xc3,                                      // 100a ret
      0x90,                                      // 100b
  };
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->has(0x1000, kFlow));
  EXPECT_FALSE(module->has(0x1002, kFlow | kInsn));
  EXPECT_TRUE(module->has(0x1009, kFlow));
  EXPECT_TRUE(module->has(0x100a, kFlow));
  EXPECT_TRUE(module->has(0x100b, kInsn));
  EXPECT_FALSE(module->has(0x100b, kFlow)) << "behind a return there may be data";
}

// As V8's deoptimizer does, which then writes what it read to the stack.
TEST(RuntimeModule, AStackThatWasLoadedIsHadWhereAJumpAheadLeads) {
  ElfBuilder elf;
  elf.entry = kText;
  elf.text = {
      0x48, 0x8b, 0x60, 0x60,  // 1000 mov rsp, [rax+60]
      0xeb, 0x03,              // 1004 jmp 1009
      0xff, 0x33,              // 1006 push [rbx]
      0xc3,                    // 1008 ret
      0x75, 0xfb,              // 1009 jne 1006
      0xc3,                    // 100b ret
  };
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->has(0x100b, kSwitchesStack));
  EXPECT_FALSE(module->has(0x1008, kSwitchesStack)) << "another line";
}

// As JavaScriptCore's interpreter does, behind what it calls when it catches an exception.
TEST(RuntimeModule, AStackThatWasLoadedIsHadWhereAConditionalJumpAheadLeads) {
  ElfBuilder elf;
  elf.entry = kText;
  elf.text = {
      0x48, 0x8b, 0x60, 0x60,  // 1000 mov rsp, [rax+60]
      0x75, 0x01,              // 1004 jne 1007
      0xc3,                    // 1006 ret
      0xff, 0xe1,              // 1007 jmp rcx
  };
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->has(0x1006, kSwitchesStack));
  EXPECT_TRUE(module->has(0x1007, kSwitchesStack));
}

// As Wine's user_mode_callback_return does.
TEST(RuntimeModule, AFrameThatWasLoadedIsAnotherStacks) {
  ElfBuilder elf;
  elf.entry = kText;
  elf.text = {
      0x48, 0x8b, 0x6f, 0x08,  // 1000 mov rbp, [rdi+8]
      0xc9,                    // 1004 leave
      0xc3,                    // 1005 ret
      0x48, 0x8b, 0x6f, 0x08,  // 1006 mov rbp, [rdi+8]
      0x55,                    // 100a push rbp
      0x48, 0x89, 0xe5,        // 100b mov rbp, rsp
      0xc9,                    // 100e leave
      0xc3,                    // 100f ret
  };
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->has(0x1005, kSwitchesStack));
  EXPECT_FALSE(module->has(0x100f, kSwitchesStack)) << "a frame of its own";
}

TEST(RuntimeModule, CodeThatIsNamedOnlyIsReadFromWhereItBegins) {
  ElfBuilder elf;
  elf.entry = kText;
  elf.text = {
      0x48, 0x8d, 0x05, 0x08, 0x00, 0x00, 0x00,  // 1000 lea rax, [100f]
      0xc3,                                      // 1007 ret
      0x00, 0x48, 0x01, 0x00, 0x00, 0x48, 0xb8,  // 1008 data, the last of which joins the code
      0x48, 0x8d, 0x05, 0x05, 0x00, 0x00, 0x00,  // 100f lea rax, [101b]
      0xc3,                                      // 1016 ret
      0x01, 0x02, 0x48, 0xb8,                    // 1017 data
      0x58,                                      // 101b pop rax
      0xc3,                                      // 101c ret
      0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
  };
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->has(0x100f, kInsn));
  EXPECT_TRUE(module->has(0x1016, kInsn));
  EXPECT_TRUE(module->has(0x101b, kInsn)) << "named by what was named";
  EXPECT_TRUE(module->has(0x101b, kNamed));
  EXPECT_FALSE(module->has(0x101b, kFlow));
}

TEST(RuntimeModule, AReturnBehindPopfGoesBackToWhatWasInterrupted) {
  ElfBuilder elf;
  elf.entry = kText;
  elf.text = {0x9d, 0x5d, 0xc3, 0x5d, 0xc3};  // popf; pop rbp; ret; pop rbp; ret
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->has(0x1002, kResumes));
  EXPECT_FALSE(module->has(0x1004, kResumes));
}

ElfBuilder with_distances(std::size_t entries) {
  ElfBuilder elf;
  elf.text = {0xff, 0xe0};                          // 1000 jmp rax
  elf.text.insert(elf.text.end(), 62, 0x90);        // 1002 nops
  append(elf.text, Bytes{0x48, 0x8d, 0x05});        // 1040 lea rax, [1000]
  append(elf.text, std::int32_t{0x1000 - 0x1047});  //
  append(elf.text, Bytes{0x48, 0x8d, 0x15});        // 1047 lea rdx, [2000]
  append(elf.text, std::int32_t{0x2000 - 0x104e});  //
  elf.text.push_back(0xc3);                         // 104e ret
  for (std::size_t i = 0; i < entries; ++i) append(elf.data, static_cast<std::uint16_t>(2 + i));
  append(elf.data, std::uint16_t{0xffff});
  elf.functions = {{0x1000, 0x1040}, {0x1040, 0x104f}};
  return elf;
}

TEST(RuntimeModule, ARowOfDistancesFromAFunctionsStartIsATable) {
  const auto module = analyze(with_distances(40));
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->has(0x1002, kTableTarget));
  EXPECT_TRUE(module->has(0x1029, kTableTarget));
  EXPECT_FALSE(module->has(0x102a, kTableTarget));
}

TEST(RuntimeModule, FewDistancesAreChance) {
  const auto module = analyze(with_distances(20));
  ASSERT_TRUE(module);
  EXPECT_FALSE(module->has(0x1002, kTableTarget));
}

// Two functions of a Go program, and where deferred calls of the first are made.
Bytes go_tables(std::uint32_t deferred, std::uint64_t functions = 2, std::uint64_t text = kText) {
  Bytes out = {0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8};
  const std::uint64_t table = 8 + 8 * 8;
  for (const std::uint64_t field : {functions, std::uint64_t{0}, text, std::uint64_t{0},
                                    std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{0}, table}) {
    append(out, field);
  }
  // Entries and places of the rest; then the end of the last.
  for (const std::uint32_t word : {0u, 20u, 0x10u, 36u, 0x20u}) append(out, word);
  for (const std::uint32_t word : {0u, 0u, 0u, deferred}) append(out, word);
  for (const std::uint32_t word : {0x10u, 0u, 0u, 0u}) append(out, word);
  return out;
}

TEST(RuntimeModule, TablesOfGoSayWhereFunctionsAndDeferredCallsAre) {
  ElfBuilder elf;
  elf.text = Bytes(0x30, 0x90);
  elf.data = go_tables(8);
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  ASSERT_NE(module->function(0x1014), nullptr);
  EXPECT_EQ(module->function(0x1014)->begin, 0x1010u);
  EXPECT_EQ(module->function(0x1014)->end, 0x1020u);
  EXPECT_EQ(module->function(0x1024), nullptr);
  EXPECT_TRUE(module->has(0x1010, kStart));
  EXPECT_TRUE(module->lands(0x1005, 0x1008));
  EXPECT_FALSE(module->lands(0x1015, 0x1008));
  EXPECT_TRUE(module->has(0x1008, kLanding));
}

TEST(RuntimeModule, TablesOfGoMayLieAmongTheCode) {
  ElfBuilder elf;
  elf.text = Bytes(0x30, 0x90);
  const Bytes tables = go_tables(8);
  elf.text.insert(elf.text.end(), tables.begin(), tables.end());
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  ASSERT_NE(module->function(0x1014), nullptr);
  EXPECT_EQ(module->function(0x1014)->begin, 0x1010u);
}

// What Go's runtime has of the program, behind the tables of Go 1.26: those do not say where the
// text begins.
Bytes go_tables_and_module(std::uint64_t functions_of_module) {
  Bytes out = go_tables(8, 2, 0);
  while (out.size() % 8 != 0) out.push_back(0);
  for (unsigned word = 0; word < 24; ++word) {
    append(out, word == 0    ? kData
                : word == 16 ? functions_of_module
                : word == 22 ? kText
                             : std::uint64_t{0});
  }
  return out;
}

TEST(RuntimeModule, WhereGosTextBeginsItsRuntimeSays) {
  constexpr std::uint64_t kTable = kData + 8 + 8 * 8;
  ElfBuilder elf;
  elf.text = Bytes(0x30, 0x90);
  elf.data = go_tables_and_module(kTable);
  ASSERT_TRUE(analyze(elf));
  const auto module = analyze(elf);
  ASSERT_NE(module->function(0x1014), nullptr);
  EXPECT_EQ(module->function(0x1014)->begin, 0x1010u);
  EXPECT_TRUE(module->lands(0x1005, 0x1008));
  elf.data = go_tables_and_module(kTable + 8);
  EXPECT_EQ(analyze(elf)->function(0x1014), nullptr) << "another program's";
}

TEST(RuntimeModule, DamagedTablesOfGoSayNothingThatIsNotThere) {
  ElfBuilder elf;
  elf.text = Bytes(0x30, 0x90);
  for (std::size_t size = 0; size < go_tables(8).size(); ++size) {
    elf.data = go_tables(8);
    elf.data.resize(size);
    EXPECT_TRUE(analyze(elf)) << size;
  }
  elf.data = go_tables(8, ~std::uint64_t{0});
  EXPECT_EQ(analyze(elf)->function(0x1014), nullptr) << "more functions than bytes";
  elf.data = go_tables(0x10);
  EXPECT_TRUE(analyze(elf)->landings().empty()) << "a place outside of the function";
}

// GHC's position-independent code in a file without symbols: no function covers it.
ElfBuilder with_filled_table(Bytes behind_naming) {
  ElfBuilder elf;
  elf.entry = kText;
  elf.text = {0x48, 0x8d, 0x0d, 0xf9, 0x0f, 0x00, 0x00};  // 1000 lea rcx, [2000]
  append(elf.text, behind_naming);                        // 1007
  elf.text.resize(0x10, 0xcc);
  append(elf.text, Bytes{0x00, 0x48, 0xb8, 0x58, 0xc3});  // 1010 data; 1013 pop rax; ret
  elf.text.resize(0x40, 0x90);
  append(elf.data, std::uint64_t{0x100000000 - (kData - 0x1013)});
  append(elf.data, std::uint64_t{0});
  return elf;
}

TEST(RuntimeModule, CodeOfNoFunctionHasATableWhereItJumpsRightBehindNamingIt) {
  const auto module = analyze(with_filled_table({0xff, 0xe1}));  // jmp rcx
  ASSERT_TRUE(module);
  EXPECT_EQ(module->function(kText), nullptr);
  EXPECT_TRUE(module->has(0x1013, kTableTarget));
  EXPECT_TRUE(module->has(0x1013, kInsn));
}

TEST(RuntimeModule, CodeOfNoFunctionThatOnlyNamesDataHasNoTable) {
  const auto module = analyze(with_filled_table({0xff, 0xd1, 0xc3}));  // call rcx; ret
  ASSERT_TRUE(module);
  EXPECT_FALSE(module->has(0x1013, kTableTarget));
}

// What GHC has in front of a function with so many arguments that some are on the stack.
ElfBuilder with_info_table(std::uint32_t type, std::uint64_t distance) {
  ElfBuilder elf;
  elf.entry = kText;
  elf.text = {0x48, 0x8d, 0x05, 0x39, 0x00, 0x00, 0x00, 0xc3};  // 1000 lea rax, [1040]; ret
  append(elf.text, Bytes{0x00, 0x48, 0xb8, 0x58, 0xc3});        // 1008 data; 100b pop rax; ret
  elf.text.resize(0x18, 0xcc);
  append(elf.text, distance);
  append(elf.text, std::uint64_t{7});  // bitmap
  for (const std::uint32_t word : {0u, 8u, 0u, 0u, type, 0u}) append(elf.text, word);
  elf.text.push_back(0xc3);  // 1040 ret
  elf.text.resize(0x60, 0x90);
  return elf;
}

TEST(RuntimeModule, AnInfoTableOfGhcSaysWhereAFunctionTakesItsArgumentsFromTheStack) {
  constexpr std::uint64_t kDistance = 0x100000000 - (0x1040 - 0x100b);
  constexpr std::uint64_t kSign = ~std::uint64_t{0} << 32;
  const auto module = analyze(with_info_table(14, kDistance));
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->has(0x100b, kStart));
  EXPECT_TRUE(module->has(0x100b, kInsn));
  EXPECT_TRUE(analyze(with_info_table(14, kDistance | kSign))->has(0x100b, kStart));
  EXPECT_FALSE(analyze(with_info_table(14, kDistance | kSign << 1))->has(0x100b, kStart));
  EXPECT_FALSE(analyze(with_info_table(15, kDistance))->has(0x100b, kStart)) << "no function";
  EXPECT_FALSE(analyze(with_info_table(14, kDistance + 1))->has(0x100b, kStart));
  EXPECT_FALSE(analyze(with_info_table(14, kDistance & 0x7fffffff))->has(0x100b, kStart));
}

// V8's builtins, of 6 bytes each, from 1010 on; `between` is what lies between two.
ElfBuilder with_pieces(std::uint32_t count, std::uint8_t between = 0xcc) {
  ElfBuilder elf;
  elf.type = ET_EXEC;
  elf.text = Bytes(0x10, 0x90);
  append(elf.data, kText + 0x10);
  for (std::uint32_t i = 0; i < count; ++i) {
    append(elf.text, Bytes{0x90, 0x90, 0x90, 0x90, 0x90, 0xc3, between, between});
    for (const std::uint32_t word : {i * 8, 6u, i * 100}) append(elf.data, word);
  }
  return elf;
}

TEST(RuntimeModule, ATableOfPiecesOfCodeSaysWhereFunctionsAre) {
  const auto module = analyze(with_pieces(200));
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->has(0x1010, kStart));
  EXPECT_TRUE(module->has(0x1018, kStart));
  EXPECT_TRUE(module->has(0x1010 + 199 * 8, kStart));
  EXPECT_FALSE(module->has(0x1014, kStart));
  ASSERT_NE(module->function(0x101a), nullptr);
  EXPECT_EQ(module->function(0x101a)->begin, 0x1018u);
  EXPECT_EQ(module->function(0x101a)->end, 0x101eu);
}

TEST(RuntimeModule, OfFewPiecesOrWithCodeBetweenThereIsNoTable) {
  EXPECT_EQ(analyze(with_pieces(100))->function(0x101a), nullptr);
  EXPECT_EQ(analyze(with_pieces(200, 0x90))->function(0x101a), nullptr);
  ElfBuilder elf = with_pieces(200);
  elf.data[0] = 0x11;
  EXPECT_EQ(analyze(elf)->function(0x101a), nullptr) << "nothing leads to the first";
}

// As V8 has it in a program whose data need not be relocated for it.
TEST(RuntimeModule, AnInstructionMayNameTheFirstPieceOfCode) {
  ElfBuilder elf = with_pieces(200);
  elf.data[0] = 0x11;
  const Bytes name = {0x48, 0x8d, 0x0d, 0x09, 0x00, 0x00, 0x00};  // 1000 lea rcx, [1010]
  std::ranges::copy(name, elf.text.begin());
  ASSERT_NE(analyze(elf)->function(0x101a), nullptr);
  EXPECT_EQ(analyze(elf)->function(0x101a)->begin, 0x1018u);
  elf.text[1] = 0x8b;  // mov rcx, [1010]
  EXPECT_EQ(analyze(elf)->function(0x101a), nullptr);
}

// As V8's builtins have theirs.
TEST(RuntimeModule, AJumpTableMayLieBehindTheCodeOfItsFunction) {
  ElfBuilder elf;
  elf.text = {
      0x4c, 0x8d, 0x15, 0x0d, 0x00, 0x00, 0x00,        // 1000 lea r10, [1014]
      0x4f, 0x63, 0x04, 0x82,                          // 1007 movsxd r8, [r10+4*r8]
      0x4d, 0x03, 0xc2,                                // 100b add r8, r10
      0x41, 0xff, 0xe0,                                // 100e jmp r8
      0xc3,                                            // 1011 ret
      0x90, 0xc3,                                      // 1012 nop; ret
      0xfd, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff,  // 1014 1011, 1012
  };
  elf.functions = {{kText, kText + elf.text.size()}};
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->has(0x1011, kTableTarget));
  EXPECT_TRUE(module->has(0x1012, kTableTarget));
  EXPECT_FALSE(module->has(0x1013, kTableTarget));
}

// As JavaScriptCore's interpreter, which has a number before each label.
TEST(RuntimeModule, LabelsCountFromWhereACallOfTheNextInstructionLeads) {
  for (const bool kept : {true, false}) {
    ElfBuilder elf;
    elf.entry = kText;
    elf.text = {
        0xe8, 0x00, 0x00, 0x00, 0x00,              // 1000 call 1005
        0x59,                                      // 1005 pop rcx
        0x48, 0x89, 0xcb,                          // 1006 mov rbx, rcx
        0x4c, 0x8d, 0x81, 0x1b, 0x00, 0x00, 0x00,  // 1009 lea r8, [rcx+1b]
        0x4e, 0x89, 0x04, 0xd7,                    // 1010 mov [rdi+r10*8], r8
        0x42, 0xff, 0x24, 0xd7,                    // 1014 jmp [rdi+r10*8]
        0x90, 0x90, 0x90, 0x90,                    // 1018
        0x92, 0x00, 0x00, 0x00,  // 101c data, which reads as code that ends in 1023
        0x48, 0x8b, 0x55, 0x10,  // 1020 mov rdx, [rbp+10]
        0xc3,                    // 1024 ret
    };
    if (!kept) elf.text[8] = 0xd9;  // mov rcx, rbx
    const auto module = analyze(elf);
    ASSERT_TRUE(module);
    EXPECT_EQ(module->has(0x1020, kInsn), kept);
    EXPECT_EQ(module->has(0x1020, kNamed | kTaken), kept);
  }
}

}  // namespace
}  // namespace hodo::text
