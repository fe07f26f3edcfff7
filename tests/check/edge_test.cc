// A branch by itself: what is found at its ends, and what each rule says of it.
#include "edge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "edge_rules.h"
#include "fake_session.h"
#include "hodo/check/finding.h"
#include "pointer.h"
#include "sensitive.h"
#include "small_program.h"

namespace hodo::check {
namespace {

using testing::Eq;
using testing::HasSubstr;
using testing::Optional;

constexpr std::uint64_t kAnon = kBase + 0x10000;
constexpr std::uint64_t kElsewhere = 0x10000000;

class EdgeTest : public testing::Test {
 protected:
  EdgeTest() { map({}); }

  void map(session::Region what, const text::ElfBuilder& elf = program()) {
    what.path = "/bin/prog";
    what.location = paths_.emplace_back(path_of(elf));  // regions only point to it
    session_.map(kBase, what);
    session_.map(kAnon, {});
    session_.run_code(kBase + text::kText, elf.text);
  }

  // Addresses are those of the file.
  Edge edge(BranchKind kind, std::uint64_t from, std::uint64_t to) {
    return edge_to(kind, from, kBase + to);
  }
  Edge edge_to(BranchKind kind, std::uint64_t from, std::uint64_t to) {
    return locator_.locate(1, {.from = kBase + from, .to = to, .kind = kind});
  }
  End::Kind kind_at(std::uint64_t address) { return locator_.end(1, address, 0).kind; }
  // "GRADE: REASON", or nothing.
  std::optional<std::string> says(const std::unique_ptr<EdgeRule>& rule, const Edge& edge) {
    const auto verdict = rule->judge(edge, locator_);
    if (!verdict) return std::nullopt;
    return std::string(name(verdict->grade)) + ": " + verdict->reason;
  }

  FakeSession session_;
  Locator locator_{session_, nullptr};

 private:
  std::deque<std::string> paths_;
};

TEST_F(EdgeTest, AnEndIsWhatTheMemoryIs) {
  session_.map(kElsewhere, {.path = "/gone"});
  session_.map(kElsewhere + 0x1000, {.path = "[vdso]"});
  EXPECT_EQ(kind_at(0), End::Kind::absent);
  EXPECT_EQ(kind_at(kBase + 0x1000), End::Kind::file);
  EXPECT_EQ(kind_at(kBase + text::kData), End::Kind::data);
  EXPECT_EQ(kind_at(kAnon), End::Kind::no_file);
  EXPECT_EQ(kind_at(kBase - 1), End::Kind::nowhere);
  EXPECT_EQ(kind_at(kElsewhere), End::Kind::unread);
  EXPECT_EQ(kind_at(kElsewhere + 0x1000), End::Kind::vdso);
}

TEST_F(EdgeTest, AnEndInAFileHasItsPlaceThere) {
  const End end = locator_.end(1, kBase + 0x1010, 0);
  ASSERT_TRUE(end.known());
  EXPECT_EQ(end.vaddr, 0x1010u);
  EXPECT_TRUE(end.has(text::kStart));
  EXPECT_FALSE(locator_.end(1, kBase + 0x1011, 0).has(text::kStart));
}

TEST_F(EdgeTest, TheNextInstructionIsBehindTheBranch) {
  EXPECT_EQ(edge(BranchKind::call, 0x1000, 0x1010).next, kBase + 0x1005);
  EXPECT_EQ(edge(BranchKind::icall, 0x1005, 0x1010).next, kBase + 0x1007);
}

// SYSENTER; INT 0x80, as in the kernel's page of 32-bit programs.
TEST_F(EdgeTest, BehindSysenterTheKernelGoesOnBehindTheInt80) {
  text::ElfBuilder elf = program();
  elf.narrow = true;
  elf.text[0] = 0x0f, elf.text[1] = 0x34, elf.text[2] = 0xcd, elf.text[3] = 0x80;
  map({}, elf);
  EXPECT_EQ(edge_to(BranchKind::syscall, 0x1000, 0).next, kBase + 0x1004);
  elf.text[3] = 0x81;
  map({}, elf);
  EXPECT_EQ(edge_to(BranchKind::syscall, 0x1000, 0).next, kBase + 0x1002);
}

TEST_F(EdgeTest, FactsAreOfTheTarget) {
  EXPECT_TRUE(edge(BranchKind::ret, 0x1011, 0x1005).facts & kToReturnSite);
  EXPECT_FALSE(edge(BranchKind::ret, 0x1011, 0x1009).facts & kToReturnSite);
  EXPECT_TRUE(edge(BranchKind::ijmp, 0x1007, 0x1018).facts & kToFunction);
  EXPECT_FALSE(edge(BranchKind::ijmp, 0x1007, 0x101a).facts & kToFunction);
}

TEST_F(EdgeTest, AReturnIntoTheVdsoGoesBehindACallThere) {
  session_.map(kElsewhere, {.path = "[vdso]"});
  const auto facts = [&](BranchKind kind) { return edge_to(kind, 0x1011, kElsewhere).facts; };
  EXPECT_EQ(facts(BranchKind::ret) & (kToReturnSite | kUnjudged), PathFacts{kToReturnSite});
  EXPECT_EQ(facts(BranchKind::ijmp) & (kToReturnSite | kUnjudged), PathFacts{kUnjudged});
  session_.map(kBase, {.path = "/gone"});
  EXPECT_TRUE(facts(BranchKind::ret) & kUnjudged) << "nothing is known of where it comes from";
}

// As V8's code goes on in its interpreter.
TEST_F(EdgeTest, AJumpBehindASumThatWasPushedPlantsAReturn) {
  const auto facts_with = [&](const text::Bytes& code) {
    text::ElfBuilder elf = program();
    std::ranges::copy(code, elf.text.begin());
    elf.functions[0].end = 0x1010;
    elf.text[0x0f] = 0xc3;
    map({}, elf);
    return edge(BranchKind::ijmp, 0x1000 + code.size() - 2, 0x1018).facts;
  };
  // add rbx, 5; push rbx; nop; jmp rcx
  EXPECT_TRUE(facts_with({0x48, 0x83, 0xc3, 5, 0x53, 0x90, 0xff, 0xe1}) & kPlantsReturn);
  EXPECT_TRUE(facts_with({0x48, 0x81, 0xc3, 5, 1, 0, 0, 0x53, 0xff, 0xe1}) & kPlantsReturn);
  EXPECT_TRUE(facts_with({0x49, 0x83, 0xc3, 5, 0x41, 0x53, 0xff, 0xe1}) & kPlantsReturn);
  EXPECT_FALSE(facts_with({0x48, 0x83, 0xc3, 5, 0x52, 0x90, 0xff, 0xe1}) & kPlantsReturn)
      << "another register is pushed";
  EXPECT_FALSE(facts_with({0x48, 0x83, 0xc3, 5, 0x53, 0x5b, 0xff, 0xe1}) & kPlantsReturn)
      << "and taken off again";
  EXPECT_FALSE(facts_with({0x48, 0x83, 0xeb, 5, 0x53, 0x90, 0xff, 0xe1}) & kPlantsReturn)
      << "a difference";
  EXPECT_FALSE(facts_with({0x74, 0x05, 0x48, 0x83, 0xc3, 5, 0x53, 0x90, 0xff, 0xe1}) &
               kPlantsReturn)
      << "a branch leads behind the sum";
}

// As V8's builtins handle exceptions, behind calls that do not return.
TEST_F(EdgeTest, WhereOnlyAnAddressLeadsIsALabelForASwitch) {
  const auto is_label_behind = [&](std::uint8_t before) {
    text::ElfBuilder elf = program();
    const text::Bytes code = {
        0x48,   0x8b, 0x20,              // 1000 mov rsp, [rax]
        0xff,   0xe0,                    // 1003 jmp rax
        0xe8,   0x06, 0x00, 0x00, 0x00,  // 1005 call 1010
        before,                          // 100a
        0x90,                            // 100b nop
    };
    std::ranges::copy(code, elf.text.begin());
    map({}, elf);
    return (edge(BranchKind::ijmp, 0x1003, 0x100b).facts & kToLabel) != 0;
  };
  EXPECT_TRUE(is_label_behind(0xcc)) << "INT3";
  EXPECT_TRUE(is_label_behind(0xc3)) << "RET";
  EXPECT_FALSE(is_label_behind(0x90)) << "NOP";
}

TEST_F(EdgeTest, NothingIsConcludedOfAFileThatCannotBeRead) {
  session_.map(kElsewhere, {.path = "/gone"});
  EXPECT_TRUE(edge_to(BranchKind::icall, 0x1005, kElsewhere).facts & kUnjudged);
  EXPECT_FALSE(edge_to(BranchKind::icall, 0x1005, kAnon).facts & kUnjudged);
}

// GNU_PROPERTY_X86_FEATURE_1_IBT, and DT_INIT at g.
text::ElfBuilder program_for_ibt() {
  text::ElfBuilder elf = program();
  elf.data.resize((elf.data.size() + 7) / 8 * 8);
  Elf64_Phdr note{};
  note.p_type = PT_GNU_PROPERTY;
  note.p_flags = PF_R;
  note.p_offset = note.p_vaddr = text::kData + elf.data.size();
  for (const std::uint32_t word : {4u, 16u, 5u, 0x00554e47u, 0xc0000002u, 4u, 1u, 0u}) {
    text::append(elf.data, word);
  }
  note.p_filesz = note.p_memsz = text::kData + elf.data.size() - note.p_vaddr;
  elf.more = {note};
  elf.dynamic = text::kData + elf.data.size();
  for (const std::uint64_t word : {std::uint64_t{DT_INIT}, std::uint64_t{0x1010}}) {
    text::append(elf.data, word);
  }
  text::append(elf.data, std::array<std::uint64_t, 2>{});
  return elf;
}

TEST_F(EdgeTest, CallsInAFileForCetLandOnEndbrUnlessTheFileWritesTheFunctionDown) {
  map({}, program_for_ibt());
  const auto rule = make_call_target();
  EXPECT_EQ(says(rule, edge(BranchKind::icall, 0x1005, 0x1010)), std::nullopt);
  EXPECT_THAT(says(rule, edge(BranchKind::icall, 0x1005, 0x1018)),
              Optional(Eq("impossible: calls a place that has no ENDBR, in a file made for CET")));
}

// The same with h among the functions that others can ask for.
text::ElfBuilder program_for_ibt_with_export() {
  text::ElfBuilder elf = program_for_ibt();
  elf.data.resize(elf.data.size() - 16);  // DT_NULL
  const std::uint64_t hash = elf.dynamic + 7 * 16, symbols = hash + 16, names = symbols + 48;
  for (const std::uint64_t word :
       {std::uint64_t{DT_HASH}, hash, std::uint64_t{DT_SYMTAB}, symbols, std::uint64_t{DT_SYMENT},
        std::uint64_t{sizeof(Elf64_Sym)}, std::uint64_t{DT_STRTAB}, names, std::uint64_t{DT_STRSZ},
        std::uint64_t{8}, std::uint64_t{DT_NULL}, std::uint64_t{0}}) {
    text::append(elf.data, word);
  }
  text::append(elf.data, std::array<std::uint32_t, 4>{1, 2, 1, 0});
  text::append(elf.data, Elf64_Sym{});
  text::append(elf.data, Elf64_Sym{.st_name = 1,
                                   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                   .st_other = 0,
                                   .st_shndx = 1,
                                   .st_value = 0x1018,
                                   .st_size = 8});
  text::append(elf.data, std::array<char, 8>{0, 'h', 0});
  return elf;
}

TEST_F(EdgeTest, WhatAFileExportsWithoutEndbrIsCalledThough) {
  map({}, program_for_ibt_with_export());
  const auto rule = make_call_target();
  EXPECT_EQ(says(rule, edge(BranchKind::icall, 0x1005, 0x1018)), std::nullopt);
  EXPECT_NE(says(rule, edge(BranchKind::icall, 0x1005, 0x1019)), std::nullopt) << "inside of it";
  EXPECT_NE(says(rule, edge(BranchKind::icall, 0x1005, 0x1000)), std::nullopt) << "of no name";
}

TEST_F(EdgeTest, TheKernelsPageIsLeftByReturnsAlone) {
  session_.map(kElsewhere, {.path = "[vdso]"});
  const auto rule = make_call_target();
  const auto leaving = [&](BranchKind kind, std::uint64_t to) {
    return locator_.locate(1, {.from = kElsewhere + 8, .to = to, .kind = kind});
  };
  for (const BranchKind kind : {BranchKind::jmp, BranchKind::ijmp, BranchKind::icall}) {
    EXPECT_NE(says(rule, leaving(kind, kBase + 0x1010)), std::nullopt);
    EXPECT_NE(says(rule, leaving(kind, kAnon)), std::nullopt);
    EXPECT_EQ(says(rule, leaving(kind, kElsewhere + 0x10)), std::nullopt);
  }
  EXPECT_EQ(says(rule, leaving(BranchKind::ret, kBase + 0x1005)), std::nullopt);
}

TEST_F(EdgeTest, CodeInDataIsExplainedInImagesOfGclAlone) {
  const auto rule = make_code_outside(RuleId::code_unknown, Jit::known);
  const auto to_data = [&] { return edge(BranchKind::icall, 0x1005, text::kData); };
  EXPECT_THAT(says(rule, to_data()), Optional(Eq("impossible: code ran in the data of prog, which "
                                                 "the file does not say to execute")));
  EXPECT_FALSE(to_data().facts & kUnjudged);
  text::ElfBuilder image = program();
  for (const char c : std::string_view("GCL (GNU Common Lisp) siLsave_system")) {
    text::append(image.data, c);
  }
  map({}, image);
  EXPECT_THAT(says(rule, to_data()),
              Optional(HasSubstr("explained: code ran in the data of prog")));
}

TEST_F(EdgeTest, TextSource) {
  const auto rule = make_text_source();
  EXPECT_EQ(says(rule, edge(BranchKind::call, 0x1000, 0x1010)), std::nullopt);
  EXPECT_THAT(says(rule, edge(BranchKind::ret, 0x1000, 0x1010)),
              Optional(Eq("impossible: the file has no ret there")));
  EXPECT_THAT(says(rule, edge(BranchKind::irq, 0x1010, 0x1005)),
              Optional(Eq("impossible: the file has no branch there")));
}

TEST_F(EdgeTest, TextTarget) {
  const auto rule = make_text_target();
  EXPECT_EQ(says(rule, edge(BranchKind::call, 0x1000, 0x1010)), std::nullopt);
  EXPECT_THAT(says(rule, edge(BranchKind::call, 0x1000, 0x1011)),
              Optional(Eq("impossible: its encoding says 0x401010")));
}

TEST_F(EdgeTest, TextTargetWhereSomethingElseIsMappedOverIt) {
  const auto rule = make_text_target();
  Edge same = edge(BranchKind::call, 0x1000, 0x1010);
  same.to.vaddr = 0x1018;
  EXPECT_THAT(says(rule, same),
              Optional(Eq("impossible: another part of the file is mapped over what is meant")));
  same.to.kept = true;  // text.changed tells
  EXPECT_EQ(says(rule, same), std::nullopt);
  text::ElfBuilder changed = program();
  const auto equal = *text::Module::analyze(changed.build());
  changed.text[0x1f] = 0xcc;  // of the same page
  const auto other = *text::Module::analyze(changed.build());
  Edge another = edge(BranchKind::call, 0x1000, 0x1010);
  another.to.path = "/lib/other.so";
  another.to.module = equal.get();  // the same file by another name
  EXPECT_EQ(says(rule, another), std::nullopt);
  another.to.module = other.get();
  EXPECT_THAT(says(rule, another),
              Optional(Eq("impossible: other.so is mapped over what is meant")));
}

TEST_F(EdgeTest, TextChangedWithBothInstructions) {
  map({.kept = true});
  const auto rule = make_text_changed();
  EXPECT_EQ(says(rule, edge(BranchKind::call, 0x1000, 0x1010)), std::nullopt);
  text::Bytes ran = program().text;
  ran[0x10] = 0xf4;
  session_.run_code(kBase + text::kText, ran);
  EXPECT_THAT(says(rule, edge(BranchKind::call, 0x1000, 0x1010)),
              Optional(Eq("impossible: at 0x401010 ran 'hlt' where the file has 'nop'")));
}

// Of a program that patches itself: 1000 mov eax, 1; 1005 ret; 1006 lea rax, [1001]; 100d ret.
TEST_F(EdgeTest, TextChangedWithinAnInstructionThatAnAddressLeadsInto) {
  text::ElfBuilder elf;
  elf.text = {0xb8, 1, 0, 0, 0, 0xc3, 0x48, 0x8d, 0x05, 0xf4, 0xff, 0xff, 0xff, 0xc3};
  elf.functions = {{.begin = 0x1000, .end = 0x1006}, {.begin = 0x1006, .end = 0x100e}};
  text::Bytes ran = elf.text;
  ran[1] = 7;
  map({.kept = true}, std::move(elf));
  session_.run_code(kBase + text::kText, ran);
  EXPECT_THAT(
      says(make_text_changed(), edge(BranchKind::ret, 0x1005, 0x1006)),
      Optional(HasSubstr("at 0x401000 ran 'mov eax, 0x07' where the file has 'mov eax, 0x01'")));
}

// mov rax, [slot]; add rax, rcx; mov rax, [rax]; jmp rax; a nop of two bytes. The slot holds eight
// times the byte.
text::ElfBuilder program_with_table(std::uint8_t byte) {
  text::ElfBuilder elf = program();
  elf.text = {0x48, 0x8b, 0x05, 0,    0,    0,    0,    0x48, 0x01, 0xc8,
              0x48, 0x8b, 0x00, 0xff, 0xe0, 0x66, 0x90, 0x90, 0xc3};
  const std::uint64_t distance = text::kData - 0x1007;
  for (unsigned i = 0; i < 4; ++i) elf.text[3 + i] = static_cast<std::uint8_t>(distance >> 8 * i);
  elf.text.resize(0x20, 0x90);
  elf.functions = {{.begin = 0x1000, .end = 0x1018}, {.begin = 0x1018, .end = 0x1020}};
  elf.data.assign(8, byte);
  return elf;
}

TEST_F(EdgeTest, ATableThatTheProgramMakesLeadsToAnyInstructionOfItsFunction) {
  map({}, program_with_table(0));
  const auto rule = make_call_target();
  EXPECT_EQ(says(rule, edge(BranchKind::ijmp, 0x100d, 0x100f)), std::nullopt);
  EXPECT_NE(says(rule, edge(BranchKind::ijmp, 0x100d, 0x1010)), std::nullopt) << "inside of one";
  EXPECT_NE(says(rule, edge(BranchKind::ijmp, 0x100d, 0x1019)), std::nullopt) << "of another";
}

TEST_F(EdgeTest, ATableThatIsInTheFileLeadsWhereTheTextSays) {
  map({}, program_with_table(1));
  EXPECT_NE(says(make_call_target(), edge(BranchKind::ijmp, 0x100d, 0x100f)), std::nullopt);
}

TEST_F(EdgeTest, CodeOutsideIsOfOneRuleOnly) {
  const Edge outside = edge_to(BranchKind::icall, 0x1005, kAnon);
  EXPECT_THAT(says(make_code_outside(RuleId::code_unknown, Jit::known), outside),
              Optional(HasSubstr("impossible: ")));
  EXPECT_EQ(says(make_code_outside(RuleId::code_stack, Jit::known), outside), std::nullopt);
  EXPECT_EQ(says(make_code_outside(RuleId::code_heap, Jit::known), outside), std::nullopt);
  EXPECT_THAT(says(make_code_outside(RuleId::code_unknown, Jit::allow), outside),
              Optional(HasSubstr("explained: ")));
}

TEST_F(EdgeTest, VsyscallsAreCalledAtTheirEntriesAndNotReturnedTo) {
  constexpr std::uint64_t kVsyscall = 0xffffffffff600000;
  const auto rule = make_code_outside(RuleId::code_unknown, Jit::known);
  const auto says_of = [&](BranchKind kind, std::uint64_t offset) {
    Edge there = edge_to(kind, 0x1005, kVsyscall + offset);
    there.to.kind = End::Kind::nowhere;  // no recording says that it is mapped
    return says(rule, there);
  };
  const auto nowhere = Optional(Eq("impossible: leads to where no code is mapped"));
  for (const std::uint64_t entry : {0x0, 0x400, 0x800}) {
    EXPECT_EQ(says_of(BranchKind::icall, entry), std::nullopt);
    EXPECT_THAT(says_of(BranchKind::ret, entry), nowhere);
    EXPECT_THAT(says_of(BranchKind::ijmp, entry), nowhere);
    EXPECT_THAT(says_of(BranchKind::icall, entry + 9), nowhere);
  }
  EXPECT_THAT(says_of(BranchKind::icall, 0xc00), nowhere);
}

// 1000 mov rax, ADDRESS; 100a ret. The dynamic linker writes the address.
text::ElfBuilder program_with_relocated_text() {
  text::ElfBuilder elf;
  elf.text = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xc3};
  elf.functions = {{.begin = 0x1000, .end = 0x100b}};
  text::append(elf.data, Elf64_Rela{.r_offset = 0x1002,
                                    .r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
                                    .r_addend = 0x1234});
  elf.dynamic = text::kData + elf.data.size();
  text::append(elf.data, Elf64_Dyn{.d_tag = DT_RELA, .d_un = {.d_val = text::kData}});
  text::append(elf.data, Elf64_Dyn{.d_tag = DT_RELASZ, .d_un = {.d_val = sizeof(Elf64_Rela)}});
  text::append(elf.data, Elf64_Dyn{.d_tag = DT_TEXTREL, .d_un = {.d_val = 0}});
  text::append(elf.data, Elf64_Dyn{});
  return elf;
}

TEST_F(EdgeTest, TextIsAsTheDynamicLinkerLeavesIt) {
  map({.kept = true}, program_with_relocated_text());
  const auto rule = make_text_changed();
  const auto says_of = [&](std::vector<std::uint8_t> ran) {
    session_.run_code(kBase + text::kText, std::move(ran));
    return says(rule, edge(BranchKind::ret, 0x100a, 0x1000));
  };
  // kBase + 0x1234
  EXPECT_EQ(says_of({0x48, 0xb8, 0x34, 0x12, 0x40, 0, 0, 0, 0, 0, 0xc3}), std::nullopt);
  EXPECT_THAT(
      says_of({0x48, 0xb8, 0x34, 0x13, 0x40, 0, 0, 0, 0, 0, 0xc3}),
      Optional(HasSubstr("ran 'mov rax, 0x401334' where the file has 'mov rax, 0x401234'")));
  EXPECT_NE(says_of({0x48, 0xb9, 0x34, 0x12, 0x40, 0, 0, 0, 0, 0, 0xc3}), std::nullopt);
}

//   1000 mov rax, 0x1020 - 0x2800   100f mov rax, [rdi]   1014 mov rax, [rsp + 8]   101b ret
//   100a add rax, r15               1012 call rax         1019 call rax             1020 ret
//   100d call rax                                                                   1021 ret
// The GOT is at 0x2800.
text::ElfBuilder program_of_large_model() {
  text::ElfBuilder elf;
  elf.text = {0x48, 0xb8, 0x20, 0xe8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x4c, 0x01,
              0xf8, 0xff, 0xd0, 0x48, 0x8b, 0x07, 0xff, 0xd0, 0x48, 0x8b, 0x44, 0x24,
              0x08, 0xff, 0xd0, 0xc3, 0x90, 0x90, 0x90, 0x90, 0xc3, 0xc3};
  elf.functions = {{.begin = 0x1000, .end = 0x101c}, {.begin = 0x1020, .end = 0x1022}};
  elf.dynamic = text::kData;
  text::append(elf.data, Elf64_Dyn{.d_tag = DT_PLTGOT, .d_un = {.d_val = 0x2800}});
  text::append(elf.data, Elf64_Dyn{});
  return elf;
}

TEST_F(EdgeTest, InTheLargeModelAFunctionCallsWhatItHasTheDistanceTo) {
  map({}, program_of_large_model());
  EXPECT_TRUE(is_by_number(edge(BranchKind::icall, 0x100d, 0x1020)));
  EXPECT_FALSE(is_by_number(edge(BranchKind::icall, 0x100d, 0x1021))) << "another place";
  EXPECT_FALSE(is_by_number(edge(BranchKind::icall, 0x1012, 0x1020))) << "of an object";
  EXPECT_TRUE(is_by_number(edge(BranchKind::icall, 0x1019, 0x1020))) << "kept on the stack";
}

//   1000 mov rax, 0x1018 - 0x2800   1010 mov rax, [rbx + rcx + 8]   1017 ret
//   100a mov rax, [rbx + rax]       1015 call rax                   1018 ret
//   100e call rax
TEST_F(EdgeTest, InTheLargeModelASlotMayLieAtADistanceInARegister) {
  text::ElfBuilder elf = program_of_large_model();
  elf.text = {0x48, 0xb8, 0x18, 0xe8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x48, 0x8b, 0x04,
              0x03, 0xff, 0xd0, 0x48, 0x8b, 0x44, 0x0b, 0x08, 0xff, 0xd0, 0xc3, 0xc3};
  elf.functions = {{.begin = 0x1000, .end = 0x1018}, {.begin = 0x1018, .end = 0x1019}};
  map({}, elf);
  EXPECT_TRUE(is_by_number(edge(BranchKind::icall, 0x100e, 0x1018)));
  EXPECT_FALSE(is_by_number(edge(BranchKind::icall, 0x1015, 0x1018))) << "in an array of objects";
}

TEST_F(EdgeTest, CodeWritableSaysWhetherItIsNow) {
  const auto rule = make_code_writable();
  EXPECT_EQ(says(rule, edge(BranchKind::call, 0x1000, 0x1010)), std::nullopt);
  map({.writing = session::Region::Writing::now});
  EXPECT_THAT(says(rule, edge(BranchKind::call, 0x1000, 0x1010)),
              Optional(HasSubstr("in memory that the program may write to")));
  map({.writing = session::Region::Writing::before});
  EXPECT_THAT(says(rule, edge(BranchKind::call, 0x1000, 0x1010)),
              Optional(HasSubstr("could have written to before")));
}

TEST_F(EdgeTest, CallTargetOfCallsAndOfJumps) {
  const auto rule = make_call_target();
  EXPECT_EQ(says(rule, edge(BranchKind::icall, 0x1005, 0x1018)), std::nullopt);
  EXPECT_THAT(says(rule, edge(BranchKind::icall, 0x1005, 0x1011)),
              Optional(Eq("impossible: calls a place where no function begins")));
  EXPECT_THAT(says(rule, edge(BranchKind::ijmp, 0x1007, 0x1011)),
              Optional(Eq("impossible: jumps to a place where no function begins")));
  EXPECT_THAT(says(rule, edge(BranchKind::ijmp, 0x1007, 0x1002)),
              Optional(HasSubstr("within a function")));
}

// Which one a branch is, of those that baselines are about: indirect ones with both ends in files.
TEST_F(EdgeTest, ABaselineHoldsIndirectBranches) {
  const auto indirect = baseline_edge(edge(BranchKind::icall, 0x1005, 0x1010));
  ASSERT_TRUE(indirect.has_value());
  EXPECT_EQ(indirect->from, 0x1005u);
  EXPECT_EQ(indirect->to, 0x1010u);
  EXPECT_EQ(baseline_edge(edge(BranchKind::call, 0x1000, 0x1010)), std::nullopt);
  EXPECT_EQ(baseline_edge(edge_to(BranchKind::icall, 0x1005, kAnon)), std::nullopt);
}

// With the system's C library: names are what makes a function sensitive.
class SensitiveTest : public EdgeTest {
 protected:
  static constexpr const char* kLibcPath = "/lib/x86_64-linux-gnu/libc.so.6";
  void SetUp() override {
    auto libc = text::Module::analyze(kLibcPath);
    if (!libc) GTEST_SKIP() << libc.error().message;
    libc_ = *libc;
    session_.map(kElsewhere, {.path = kLibcPath, .location = kLibcPath});
  }
  std::uint64_t address(std::string_view name) {
    return kElsewhere + libc_->symbols().named(name).front().start;
  }

 private:
  std::shared_ptr<const text::Module> libc_;
};

TEST_F(SensitiveTest, ReachedByAPointerOfTheProgram) {
  EXPECT_EQ(reached_through_pointer(edge_to(BranchKind::icall, 0x1005, address("system"))),
            "system");
  EXPECT_EQ(reached_through_pointer(edge_to(BranchKind::ijmp, 0x1007, address("setuid"))),
            "setuid");
}

TEST_F(SensitiveTest, NotReachedByOtherBranchesNorOtherFunctions) {
  EXPECT_EQ(reached_through_pointer(edge_to(BranchKind::icall, 0x1005, address("puts"))), "");
  EXPECT_EQ(reached_through_pointer(edge_to(BranchKind::call, 0x1000, address("system"))), "");
  EXPECT_EQ(reached_through_pointer(edge_to(BranchKind::icall, 0x1005, address("system") + 1)), "");
}

// mov rsp, rbx; jmp rax. A static program without names may be its own dynamic linker, whose code
// that binds functions takes the vector registers back first: xrstor [rsp].
TEST_F(SensitiveTest, ReachedBehindAChangeOfStacksUnlessItBindsFunctions) {
  const auto jumps = [&](std::vector<std::uint8_t> code) {
    text::ElfBuilder elf;
    code.insert(code.end(), {0x48, 0x89, 0xdc, 0xff, 0xe0});
    elf.text = code;
    elf.functions = {{.begin = 0x1000, .end = 0x1000 + code.size()}};
    map({}, elf);
    const Edge edge = edge_to(BranchKind::ijmp, 0x1000 + code.size() - 2, address("system"));
    return reached_through_pointer(edge);
  };
  EXPECT_EQ(jumps({0x90, 0x90, 0x90, 0x90}), "system");
  EXPECT_EQ(jumps({0x0f, 0xae, 0x2c, 0x24}), "");
}

// Of a branch from code of no file nobody can say that it had the name.
TEST_F(SensitiveTest, ReachedFromOutsideOfFiles) {
  const Branch branch = {.from = kAnon, .to = address("execve"), .kind = BranchKind::icall};
  EXPECT_EQ(reached_through_pointer(locator_.locate(1, branch)), "execve");
}

TEST_F(SensitiveTest, CodeThatAGeneratorMadeIsExplainedUnlessAllIsToBeReported) {
  session_.map(kAnon, {.area = "//anon", .generated = true});
  const Branch branch = {.from = kAnon, .to = address("execve"), .kind = BranchKind::icall};
  const Edge edge = locator_.locate(1, branch);
  EXPECT_THAT(says(make_call_sensitive(nullptr, Jit::known), edge),
              Optional(HasSubstr("explained: ")));
  EXPECT_THAT(says(make_call_sensitive(nullptr, Jit::report), edge),
              Optional(HasSubstr("unusual: ")));
}

TEST_F(SensitiveTest, TheVerdictNamesTheFunction) {
  EXPECT_THAT(says(make_call_sensitive(nullptr, Jit::known),
                   edge_to(BranchKind::icall, 0x1005, address("system"))),
              Optional(Eq("unusual: reaches system through a pointer")));
}

}  // namespace
}  // namespace hodo::check
