// What an analysis finds in small files made by hand, and in damaged ones.
#include "hodo/check/module.h"

#include <gtest/gtest.h>

#include "elf_builder.h"

namespace hodo::check {
namespace {

std::shared_ptr<const Module> analyze(const ElfBuilder& elf) {
  auto module = Module::analyze(elf.build());
  if (!module) {
    ADD_FAILURE() << module.error().message;
    return nullptr;
  }
  return *module;
}

std::string marks_text(Marks marks) {
  static constexpr std::pair<Mark, const char*> kNames[] = {
      {kInsn, "insn"},           {kStart, "start"},       {kTaken, "taken"},
      {kLeader, "leader"},       {kReturnSite, "return"}, {kTableTarget, "table"},
      {kLanding, "landing"},     {kEndbr, "endbr"},       {kSwitchesStack, "switch"},
      {kPushedTarget, "pushed"},
  };
  std::string out;
  for (const auto& [mark, name] : kNames) {
    if ((marks & mark) != 0) out += (out.empty() ? "" : " ") + std::string(name);
  }
  return out;
}

TEST(Module, MarksWhatTheTextSays) {
  ElfBuilder elf;
  elf.entry = kText;
  elf.text = {
      0xf3, 0x0f, 0x1e, 0xfa,                    // 1000 endbr64
      0xe8, 0x0b, 0x00, 0x00, 0x00,              // 1004 call 1014
      0x74, 0x02,                                // 1009 jz 100d
      0xff, 0xd0,                                // 100b call rax
      0x48, 0x8d, 0x05, 0x02, 0x00, 0x00, 0x00,  // 100d lea rax, [1016]
      0x50,                                      // 1014 push rax
      0xc3,                                      // 1015 ret
      0x48, 0x8b, 0x67, 0x08,                    // 1016 mov rsp, [rdi+8]
      0xff, 0xe2,                                // 101a jmp rdx
      0xc3,                                      // 101c ret
  };
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(marks_text(module->marks(0x1000)), "insn start endbr");
  EXPECT_EQ(marks_text(module->marks(0x1001)), "");
  EXPECT_EQ(marks_text(module->marks(0x1009)), "insn return");
  EXPECT_EQ(marks_text(module->marks(0x100b)), "insn leader");
  EXPECT_EQ(marks_text(module->marks(0x100d)), "insn leader return");
  EXPECT_EQ(marks_text(module->marks(0x1014)), "insn leader");
  EXPECT_EQ(marks_text(module->marks(0x1015)), "insn pushed");
  EXPECT_EQ(marks_text(module->marks(0x1016)), "insn taken");
  EXPECT_EQ(marks_text(module->marks(0x101a)), "insn switch");
  EXPECT_EQ(marks_text(module->marks(0x101c)), "insn");
  EXPECT_FALSE(module->is_text(0x101d));
  EXPECT_EQ(module->marks(0x101d), 0);
}

// lock cmpxchg is entered behind its prefix where there is one processor only.
TEST(Module, FollowsATargetInsideOfAnInstruction) {
  ElfBuilder elf;
  elf.text = {
      0x74, 0x01,              // 1000 jz 1003
      0xf0, 0x0f, 0xb1, 0x0f,  // 1002 lock cmpxchg [rdi], ecx; 1003 cmpxchg [rdi], ecx
      0xc3,                    // 1006 ret
  };
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(marks_text(module->marks(0x1002)), "insn leader");
  EXPECT_EQ(marks_text(module->marks(0x1003)), "insn leader");
  EXPECT_EQ(marks_text(module->marks(0x1004)), "");
  EXPECT_EQ(marks_text(module->marks(0x1006)), "insn");
}

TEST(Module, ReadsAJumpTableUpToTheFirstEntryThatLeavesTheFunction) {
  ElfBuilder elf;
  elf.text = {
      0x48, 0x8d, 0x15, 0xf9, 0x0f, 0x00, 0x00,  // 1000 lea rdx, [2000]
      0xff, 0xe0,                                // 1007 jmp rax
      0x90,                                      // 1009 nop
      0x90,                                      // 100a nop
      0xc3,                                      // 100b ret
  };
  for (const std::int32_t target : {0x1009, 0x100b, 0x1030, 0x100a}) {
    append(elf.data, target - 0x2000);
  }
  elf.functions = {{0x1000, 0x100c, 0, 1, 0}};
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->complete());
  EXPECT_EQ(marks_text(module->marks(0x1009)), "insn table");
  EXPECT_EQ(marks_text(module->marks(0x100b)), "insn table");
  EXPECT_EQ(marks_text(module->marks(0x100a)), "insn");
}

TEST(Module, ATableMayLeadIntoAPartOfItsFunctionThatWasSplitOff) {
  ElfBuilder elf;
  elf.text = {
      0x48, 0x8d, 0x15, 0xf9, 0x0f, 0x00, 0x00,  // 1000 lea rdx, [2000]
      0xff, 0xe0,                                // 1007 jmp rax
      0x90,                                      // 1009 nop
      0xc3,                                      // 100a ret
      0x90, 0x90, 0xc3,                          // 100b nop; nop; ret: the other part
  };
  for (const std::int32_t target : {0x1009, 0x100c, 0x100a, 0x100d}) {
    append(elf.data, target - 0x2000);
  }
  elf.functions = {{0x1000, 0x100b}, {0x100b, 0x100e}};
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(marks_text(module->marks(0x100c)), "insn table");
  EXPECT_EQ(marks_text(module->marks(0x100a)), "insn table");
  EXPECT_EQ(marks_text(module->marks(0x100d)), "insn") << "no entry of the function follows";
  EXPECT_TRUE(module->same_function(0x1007, 0x100c));
}

TEST(Module, KnowsWhereAnExceptionLands) {
  ElfBuilder elf;
  elf.text = Bytes(0x30, 0x90);
  elf.functions = {{0x1000, 0x1030, 0x05, 0x08, 0x20}};
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  ASSERT_EQ(module->landings().size(), 1u);
  EXPECT_EQ(marks_text(module->marks(0x1020)), "insn landing");
  // A call at the last byte of the site [1005, 100d) returns to 100d.
  EXPECT_FALSE(module->lands(0x1005, 0x1020));
  EXPECT_TRUE(module->lands(0x1006, 0x1020));
  EXPECT_TRUE(module->lands(0x100d, 0x1020));
  EXPECT_FALSE(module->lands(0x100e, 0x1020));
  EXPECT_FALSE(module->lands(0x100d, 0x1021));
}

TEST(Module, ConstantsCountOnlyWhereTextDoesNotMove) {
  ElfBuilder elf;
  elf.text = {0xbf, 0x05, 0x10, 0x00, 0x00, 0xc3, 0x90};  // mov edi, 0x1005; ret; nop
  append(elf.data, std::uint64_t{0x1006});
  elf.type = ET_EXEC;
  auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(marks_text(module->marks(0x1005)), "insn taken");
  EXPECT_EQ(marks_text(module->marks(0x1006)), "insn taken");
  elf.type = ET_DYN;
  module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_EQ(marks_text(module->marks(0x1005)), "insn");
  EXPECT_EQ(marks_text(module->marks(0x1006)), "insn");
}

TEST(Module, AJumpIntoTheMiddleMakesTwoPartsOneFunction) {
  ElfBuilder elf;
  elf.text = {
      0xeb, 0x02,  // 1000 jmp 1004
      0x90, 0xc3,  // 1002 nop; ret
      0x90, 0xc3,  // 1004 nop; ret
      0xeb, 0xfb,  // 1006 jmp 1003
      0xc3,        // 1008 ret
  };
  elf.functions = {{0x1000, 0x1004}, {0x1004, 0x1006}, {0x1006, 0x1009}};
  const auto module = analyze(elf);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->same_function(0x1000, 0x1003));
  EXPECT_FALSE(module->same_function(0x1000, 0x1004)) << "a jump to a start is a tail call";
  EXPECT_TRUE(module->same_function(0x1000, 0x1008));
  EXPECT_TRUE(module->same_function(0x1007, 0x1001));
  EXPECT_FALSE(module->same_function(0x1004, 0x1008));
}

TEST(DamagedModule, EveryLengthOfAFileIsReadOrRefused) {
  ElfBuilder elf;
  elf.text = {0xe8, 0x00, 0x00, 0x00, 0x00, 0xc3};
  elf.data = Bytes(16, 0xff);
  elf.functions = {{0x1000, 0x1006, 0, 5, 5}};
  const Bytes whole = elf.build();
  // The headers come last.
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(Module::analyze(cut)) << size;
  }
  EXPECT_TRUE(Module::analyze(whole));
  std::size_t incomplete = 0;
  for (elf.unwind_cut = 1; elf.unwind_cut < 50; ++elf.unwind_cut) {
    const auto module = Module::analyze(elf.build());
    ASSERT_TRUE(module);
    incomplete += !(*module)->complete();
    EXPECT_TRUE((*module)->landings().empty());
  }
  EXPECT_EQ(incomplete, 44u) << "all but those right before an entry or in its length";
}

TEST(DamagedModule, TablesThatAreCutOffAreTold) {
  ElfBuilder elf;
  elf.text = Bytes(0x30, 0x90);
  elf.functions = {{0x1000, 0x1030, 0x05, 0x08, 0x20}};
  EXPECT_TRUE(analyze(elf)->complete());
  elf.unwind_cut = 1;
  EXPECT_FALSE(analyze(elf)->complete());
}

TEST(DamagedModule, OverlappingTextIsRefused) {
  ElfBuilder elf;
  elf.text = Bytes(0x100, 0x90);
  elf.more = {{.p_type = PT_LOAD,
               .p_flags = PF_R | PF_X,
               .p_offset = kText + 0x80,
               .p_vaddr = 0x9000,
               .p_filesz = 0x80,
               .p_memsz = 0x80}};
  const auto module = Module::analyze(elf.build());
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::malformed);
}

TEST(DamagedModule, MoreSegmentsThanALinkerMakesAreRefused) {
  ElfBuilder elf;
  elf.text = {0xc3};
  elf.more = std::vector<Elf64_Phdr>(254, {.p_type = PT_LOAD});
  const auto module = Module::analyze(elf.build());
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::unsupported);
  elf.more.pop_back();
  EXPECT_TRUE(Module::analyze(elf.build()));
}

TEST(DamagedModule, AnotherMachineIsRefused) {
  ElfBuilder elf;
  elf.text = {0xc3};
  Bytes bytes = elf.build();
  bytes[offsetof(Elf64_Ehdr, e_machine)] = EM_386;
  const auto module = Module::analyze(bytes);
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace hodo::check
