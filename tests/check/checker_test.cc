// Each rule on a few branches of a small program: one case that it speaks of, and the nearest one
// that it does not.
#include "hodo/check/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "doubt.h"
#include "fake_session.h"
#include "hodo/text/module.h"
#include "small_program.h"

namespace hodo::check {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Rules = std::vector<std::string>;

constexpr std::uint64_t kLibc = 0x10000000;
constexpr std::uint64_t kStack = 0x7f0000000000;
constexpr const char* kLibcPath = "/lib/x86_64-linux-gnu/libc.so.6";

// With this build-id (an ELF note), and loaded by a dynamic linker.
text::ElfBuilder dynamic_program(std::uint8_t id) {
  text::ElfBuilder elf = program();
  elf.entry = 0x1000;
  elf.data = {4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, id, id, id, id};
  elf.more.push_back({.p_type = PT_NOTE,
                      .p_flags = PF_R,
                      .p_offset = text::kData,
                      .p_vaddr = text::kData,
                      .p_paddr = text::kData,
                      .p_filesz = elf.data.size(),
                      .p_memsz = elf.data.size(),
                      .p_align = 4});
  add_table(elf);
  const std::uint64_t at = text::kData + elf.data.size();
  const std::string linker = "/lib/ld.so";
  text::append(elf.data, text::Bytes(linker.c_str(), linker.c_str() + linker.size() + 1));
  elf.more.push_back({.p_type = PT_INTERP,
                      .p_flags = PF_R,
                      .p_offset = at,
                      .p_vaddr = at,
                      .p_paddr = at,
                      .p_filesz = linker.size() + 1,
                      .p_memsz = linker.size() + 1,
                      .p_align = 1});
  return elf;
}

class CheckerTest : public testing::Test {
 protected:
  CheckerTest() { map_program(program()); }

  void map_program(const text::ElfBuilder& elf, session::Region what = {}) {
    file_ = path_of(elf);
    what.path = "/bin/prog";
    what.location = file_;
    session_.map(kBase, what);
    session_.map(kBase + 0x10000, {.area = "//anon"});
    session_.run_code(kBase + text::kText, elf.text);
  }

  // A branch of the program, by the addresses of its file.
  void go(BranchKind kind, std::uint64_t from, std::uint64_t to, std::uint32_t insns = 5) {
    go_to(kind, from, kBase + to, insns);
  }
  void go_to(BranchKind kind, std::uint64_t from, std::uint64_t to, std::uint32_t insns = 5) {
    see({.from = kBase + from, .to = to, .insns = insns, .kind = kind});
  }
  void see(const Branch& branch) {
    if (!checker_) checker_.emplace(session_, options_);
    checker_->branches({.pid = 1, .tid = 1}, std::span(&branch, 1));
  }

  Rules found() {
    Rules out;
    for (const Finding& f : checker_->findings()) out.emplace_back(f.rule->name);
    return out;
  }

  FakeSession session_;
  Options options_;
  std::optional<Checker> checker_;

 private:
  std::string file_;
};

TEST_F(CheckerTest, SaysNothingOfWhatTheTextAllows) {
  go(BranchKind::call, 0x1000, 0x1010);
  go(BranchKind::ret, 0x1011, 0x1005);
  go(BranchKind::icall, 0x1005, 0x1018);
  go(BranchKind::ret, 0x101a, 0x1007);
  go(BranchKind::cond, 0x100a, 0x1009);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(CheckerTest, TextSourceWhereTheFileHasNoSuchBranch) {
  go(BranchKind::cond, 0x1009, 0x1018);
  EXPECT_THAT(found(), ElementsAre("text.source"));
}

TEST_F(CheckerTest, TextTargetOtherThanTheEncodingSays) {
  go(BranchKind::call, 0x1000, 0x1018);
  EXPECT_THAT(found(), ElementsAre("text.target"));
}

TEST_F(CheckerTest, TextChangedWhereOtherBytesRan) {
  map_program(program(), {.kept = true});
  go(BranchKind::call, 0x1000, 0x1010);
  EXPECT_THAT(found(), IsEmpty());

  text::Bytes ran = program().text;
  ran[0x10] = 0xf4;
  session_.run_code(kBase + text::kText, ran);
  go(BranchKind::call, 0x1000, 0x1012);
  EXPECT_THAT(found(), ElementsAre("text.changed"));
}

// In the place of an instruction of the file, as the kernel's probes have it.
class BreakpointTest : public CheckerTest {
 protected:
  void run_with(const text::Bytes& code, std::size_t at) {
    map_program(program(), {.kept = true});
    text::Bytes ran = program().text;
    std::ranges::copy(code, ran.begin() + static_cast<std::ptrdiff_t>(at));
    session_.run_code(kBase + text::kText, ran);
    go(BranchKind::call, 0x1000, 0x1010);
  }
  void meet(std::uint64_t at, std::uint64_t goes_on, BranchKind kind = BranchKind::end) {
    see({.from = kBase + at, .kind = kind});
    see({.to = kBase + goes_on, .kind = BranchKind::begin});
  }
};

TEST_F(BreakpointTest, StandsForTheFilesInstruction) {
  run_with({0xcc}, 0x10);
  meet(0x1010, 0x1011);
  go(BranchKind::ret, 0x1011, 0x1005);
  EXPECT_THAT(found(), IsEmpty());
  go(BranchKind::call, 0x1000, 0x1010);
  meet(0x1010, 0x1011, BranchKind::int_);
  go(BranchKind::ret, 0x1011, 0x1005);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(BreakpointTest, StandsForAReturn) {
  run_with({0xcc}, 0x11);
  meet(0x1011, 0x1005);
  EXPECT_THAT(found(), IsEmpty());
  go(BranchKind::call, 0x1000, 0x1010);
  meet(0x1011, 0x1007);
  EXPECT_THAT(found(), testing::Contains("text.changed"));
}

TEST_F(BreakpointTest, StandsForNothingElse) {
  run_with({0xcc}, 0x10);
  meet(0x1010, 0x1018);
  EXPECT_THAT(found(), ElementsAre("text.changed")) << "a handler begins";
}

TEST_F(BreakpointTest, IsADebuggersWhereTheThreadGoesOnAtIt) {
  run_with({0xcc}, 0x10);
  meet(0x1010, 0x1010);
  EXPECT_THAT(found(), ElementsAre("text.changed"));
}

TEST_F(BreakpointTest, IsNoReasonToPassMore) {
  run_with({0xcc, 0x90}, 0x10);
  EXPECT_THAT(found(), ElementsAre("text.changed"));
}

TEST_F(CheckerTest, CodeOutsideOfFilesByWhatTheMemoryIs) {
  session_.map(kStack, {.area = "[stack]"});
  session_.map(kStack + 0x10000, {.area = "[heap]"});
  go_to(BranchKind::icall, 0x1005, kStack);
  go_to(BranchKind::icall, 0x1005, kStack + 0x10000);
  go_to(BranchKind::icall, 0x1005, kBase + 0x10000);
  EXPECT_THAT(found(), ElementsAre("code.stack", "code.heap", "code.unknown"));
}

// The kernel has probed functions return to its own page, and leads on from there.
class ProbesTest : public CheckerTest {
 protected:
  static constexpr std::uint64_t kProbes = 0x7fffffffe000;

  ProbesTest() {
    session_.map(kProbes, {.path = "[uprobes]"});
    go(BranchKind::icall, 0x1005, 0x1018);
    go(BranchKind::call, 0x1000, 0x1010);
  }
  void return_to(std::uint64_t place) { go_to(BranchKind::ret, 0x1011, kProbes + place); }
  // Seen as steps.
  void leave_for(std::uint64_t to) {
    see({.from = kProbes, .kind = BranchKind::end});
    see({.to = kProbes + 1, .kind = BranchKind::begin});
    see({.from = kProbes + 1, .kind = BranchKind::end});
    see({.to = kBase + to, .kind = BranchKind::begin});
  }
};

TEST_F(ProbesTest, LeadToWhereTheOpenCallReturns) {
  return_to(0);
  leave_for(0x1005);
  go(BranchKind::ret, 0x101a, 0x1007);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(ProbesTest, LeadOnByAReturnOfTheirOwn) {
  return_to(0);
  see({.from = kProbes + 16, .to = kBase + 0x1005, .kind = BranchKind::ret});
  go(BranchKind::ret, 0x101a, 0x1007);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(ProbesTest, DoNotLeadToWhereAnotherCallReturns) {
  return_to(0);
  leave_for(0x1007);
  EXPECT_THAT(found(), ElementsAre("return.target"));
}

TEST_F(ProbesTest, AreReturnedToWhereTheyBegin) {
  return_to(128);
  EXPECT_THAT(found(), ElementsAre("return.target"));
}

TEST_F(ProbesTest, AreNotWhereAHandlerReturns) {
  see({.from = kBase + 0x1010, .kind = BranchKind::end});
  see({.to = kBase + 0x1018, .kind = BranchKind::begin});
  go_to(BranchKind::ret, 0x101a, kProbes);
  EXPECT_THAT(found(), ElementsAre("return.target"));
}

TEST_F(ProbesTest, AreLeftForAHandlerThatComesBack) {
  return_to(0);
  see({.from = kProbes + 16, .kind = BranchKind::end});
  see({.to = kBase + 0x1018, .kind = BranchKind::begin});
  EXPECT_THAT(found(), IsEmpty());
  go(BranchKind::ret, 0x101a, 0x1005);
  EXPECT_THAT(found(), ElementsAre("return.target")) << "it was no handler";
}

TEST_F(ProbesTest, AreNotCalled) {
  go_to(BranchKind::icall, 0x1005, kProbes);
  EXPECT_THAT(found(), ElementsAre("code.unknown"));
}

TEST_F(ProbesTest, AreNoHandler) {
  see({.from = kBase + 0x1010, .kind = BranchKind::end});
  see({.to = kProbes, .kind = BranchKind::begin});
  EXPECT_THAT(found(), ElementsAre("call.target"));
}

TEST_F(ProbesTest, AreTheKernelsAlone) {
  session_.map(kProbes, {.area = "[uprobes]"});
  return_to(0);
  EXPECT_THAT(found(), ElementsAre("code.unknown", "return.target"));
}

// A probe in the place of a direct branch: the kernel makes that.
class ProbedBranchTest : public CheckerTest {
 protected:
  void go_by_kernel(std::uint64_t from, std::uint64_t to) {
    see({.from = kBase + from, .kind = BranchKind::end});
    see({.to = kBase + to, .kind = BranchKind::begin});
  }
};

TEST_F(ProbedBranchTest, OpensItsCall) {
  go_by_kernel(0x1000, 0x1010);
  go(BranchKind::ret, 0x1011, 0x1005);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(ProbedBranchTest, OpensNoOtherCall) {
  go_by_kernel(0x1000, 0x1010);
  go(BranchKind::ret, 0x1011, 0x1007);
  EXPECT_THAT(found(), ElementsAre("return.target"));
}

TEST_F(ProbedBranchTest, LeadsWhereTheTextHasItLead) {
  go_by_kernel(0x1000, 0x1018);
  EXPECT_THAT(found(), IsEmpty()) << "a handler";
  go(BranchKind::ret, 0x101a, 0x1005);
  EXPECT_THAT(found(), ElementsAre("return.target"));
}

TEST_F(ProbedBranchTest, IsTakenOrNot) {
  go(BranchKind::icall, 0x1005, 0x1018);
  go_by_kernel(0x100a, 0x1009);
  go_by_kernel(0x100a, 0x100c);
  go(BranchKind::ret, 0x101a, 0x1007);
  EXPECT_THAT(found(), IsEmpty());
  go_by_kernel(0x100a, 0x100d);
  EXPECT_THAT(found(), ElementsAre("call.target"));
}

// Of a guest whose kernel was recorded, too, its code is in the recording and in no file.
TEST_F(CheckerTest, NoCodeOutsideOfFilesWhereTheKernelTakesOver) {
  constexpr std::uint64_t kEntry = 0xffffffffb1600000;
  session_.map(kEntry, {.area = "[kernel]"});
  see({.from = kBase + 0x100a, .to = kEntry, .kind = BranchKind::irq});
  see({.from = kEntry + 0x10, .to = kBase + 0x100a, .kind = BranchKind::iret});
  EXPECT_THAT(found(), ElementsAre());
  go_to(BranchKind::icall, 0x1005, kEntry);
  EXPECT_THAT(found(), ElementsAre("code.unknown"));
}

TEST_F(CheckerTest, NoCodeOutsideOfFilesWhereACompilerSaysThatItMadeIt) {
  session_.map(kStack, {.area = "//anon", .generated = true});
  go_to(BranchKind::icall, 0x1005, kStack);
  ASSERT_THAT(found(), ElementsAre("code.unknown"));
  EXPECT_EQ(checker_->findings().at(0).grade, Grade::explained);
}

TEST_F(CheckerTest, CodeWritableWhereTheProgramMayWrite) {
  map_program(program(), {.writing = session::Region::Writing::now});
  go(BranchKind::call, 0x1000, 0x1010);
  EXPECT_THAT(found(), ElementsAre("code.writable"));
}

TEST_F(CheckerTest, ReturnTargetElsewhereThanBehindTheOpenCall) {
  go(BranchKind::call, 0x1000, 0x1010);
  go(BranchKind::ret, 0x1011, 0x1009);
  EXPECT_THAT(found(), ElementsAre("return.target"));
}

TEST_F(CheckerTest, WhatWasInterruptedMayBeDoneWhenTheThreadGoesOn) {
  go(BranchKind::call, 0x1000, 0x1010);
  see({.from = kBase + 0x1010, .kind = BranchKind::end, .flags = kAsync | kTraceEnd});
  see({.to = kBase + 0x1011, .kind = BranchKind::begin});
  go(BranchKind::ret, 0x1011, 0x1007);
  EXPECT_THAT(found(), ElementsAre("return.target")) << "the call is still known";
}

TEST_F(CheckerTest, NoCallThatWasInterruptedIsSkipped) {
  const auto interrupt = [&](std::uint64_t at, std::uint64_t goes_on) {
    see({.from = kBase + at, .kind = BranchKind::end, .flags = kAsync | kTraceEnd});
    see({.to = kBase + goes_on, .kind = BranchKind::begin});
  };
  interrupt(0x100a, 0x100a);
  EXPECT_THAT(found(), IsEmpty());
  interrupt(0x1000, 0x1005);
  EXPECT_THAT(found(), ElementsAre("call.target")) << "as a debugger may do";
}

TEST_F(CheckerTest, CallTargetInTheMidstOfAFunction) {
  go(BranchKind::icall, 0x1005, 0x1010);
  EXPECT_THAT(found(), IsEmpty());
  go(BranchKind::icall, 0x1005, 0x1011);
  EXPECT_THAT(found(), ElementsAre("call.target"));
}

TEST_F(CheckerTest, CallTargetBehindTheReturnOfItsOwnCall) {
  text::ElfBuilder elf = program();
  const auto put = [&](std::size_t at, std::initializer_list<std::uint8_t> code) {
    std::ranges::copy(code, elf.text.begin() + static_cast<std::ptrdiff_t>(at));
  };
  put(0x5, {0xc3, 0x90});         // call g; ret; nop
  put(0x10, {0xff, 0xd0, 0xc3});  // g: call rax; ret
  put(0x17, {0xc3, 0xff, 0xd0});  // h, which g does not go on to: call rax
  map_program(elf);
  go(BranchKind::call, 0x1000, 0x1010);
  go(BranchKind::icall, 0x1010, 0x1006);
  EXPECT_THAT(found(), IsEmpty()) << "so -fsplit-stack changes stacks";
  go(BranchKind::icall, 0x1018, 0x1006);
  EXPECT_THAT(found(), ElementsAre("call.target")) << "h is not called there";
}

// POP RCX; LFENCE; JMP RCX.
TEST_F(CheckerTest, AJumpBehindPopAndLfenceIsAReturn) {
  text::ElfBuilder elf = program();
  const text::Bytes returns = {0x59, 0x0f, 0xae, 0xe8, 0xff, 0xe1};
  const auto go_there = [&](const text::Bytes& code, std::uint64_t to) {
    std::ranges::copy(code, elf.text.begin() + 0x10);
    checker_.reset();
    map_program(elf);
    go(BranchKind::call, 0x1000, 0x1010);
    go(BranchKind::ijmp, 0x1014, to);
    return found();
  };
  EXPECT_THAT(go_there(returns, 0x1005), IsEmpty());
  EXPECT_THAT(go_there(returns, 0x1018), ElementsAre("return.target")) << "a function's start";
  EXPECT_THAT(go_there(returns, 0x1007), ElementsAre("return.target")) << "behind another call";
  EXPECT_THAT(go_there({0x59, 0x0f, 0x1f, 0x00, 0xff, 0xe1}, 0x1005), ElementsAre("call.target"));
  EXPECT_THAT(go_there({0x5a, 0x0f, 0xae, 0xe8, 0xff, 0xe1}, 0x1005), ElementsAre("call.target"));
}

TEST_F(CheckerTest, ChainRopFromThreeShortReturnsOn) {
  go(BranchKind::ret, 0x1009, 0x1011);
  go(BranchKind::ret, 0x1011, 0x101a);
  EXPECT_THAT(found(), testing::Not(testing::Contains("chain.rop")));
  go(BranchKind::ret, 0x101a, 0x1009);
  EXPECT_THAT(found(), testing::Contains("chain.rop"));
}

TEST_F(CheckerTest, ChainRopNotOfLongPiecesOfCode) {
  for (int i = 0; i < 4; ++i) go(BranchKind::ret, 0x1009, 0x1011, 21);
  EXPECT_THAT(found(), testing::Not(testing::Contains("chain.rop")));
}

TEST_F(CheckerTest, ChainJopFromThreeShortJumpsOn) {
  go(BranchKind::ijmp, 0x1007, 0x101a);
  go(BranchKind::ijmp, 0x1018, 0x1009);
  EXPECT_THAT(found(), testing::Not(testing::Contains("chain.jop")));
  go(BranchKind::ijmp, 0x1007, 0x101a);
  EXPECT_THAT(found(), testing::Contains("chain.jop"));
}

TEST_F(CheckerTest, BaselineNewUnlessItWasLearned) {
  map_program(dynamic_program(7));
  const Baseline::BuildId id = {7, 7, 7, 7};
  Baseline baseline;
  baseline.add({.from_module = id, .from = 0x1005, .to_module = id, .to = 0x1010});
  options_.baseline = &baseline;
  go(BranchKind::icall, 0x1005, 0x1010);
  EXPECT_THAT(found(), IsEmpty());
  go(BranchKind::icall, 0x1005, 0x1018);
  EXPECT_THAT(found(), ElementsAre("baseline.new"));
}

TEST_F(CheckerTest, LibraryInjectedWhereTheProgramBeginsWithAStranger) {
  map_program(dynamic_program(7));
  const std::string linker = path_of(program()), stranger = path_of(program());
  session_.map(kLibc, {.path = "/lib/ld.so", .location = linker});
  see({.from = kLibc + 0x1007, .to = kBase + 0x1000, .kind = BranchKind::ijmp});
  EXPECT_THAT(found(), IsEmpty());

  checker_.reset();
  session_.map(kLibc + 0x10000, {.path = "/tmp/evil.so", .location = stranger});
  see({.from = kLibc + 0x1007, .to = kBase + 0x1000, .kind = BranchKind::ijmp});
  EXPECT_THAT(found(), ElementsAre("library.injected"));
}

TEST_F(CheckerTest, NoLibraryInjectedThatAConstructorLoads) {
  constexpr const char* kLinker = "/lib64/ld-linux-x86-64.so.2";
  const auto linker = text::Module::analyze(kLinker);
  if (!linker) GTEST_SKIP() << linker.error().message;
  map_program(dynamic_program(7));
  const std::string stranger = path_of(program());
  const std::uint64_t at = kLibc + (*linker)->elf().entry;
  session_.map(kLibc, {.path = "/lib/ld.so", .location = kLinker});
  const auto start = [&](std::uint64_t since) {
    checker_.reset();
    session_.map(kLibc + 0x1000000, {.path = "/tmp/other.so", .location = stranger}, since);
    see({.to = at, .time = 1, .kind = BranchKind::begin});
    see({.from = at, .to = kBase + 0x1010, .time = 5, .kind = BranchKind::icall});
    see({.from = at, .to = kBase + 0x1000, .time = 20, .kind = BranchKind::ijmp});
  };
  start(9);
  EXPECT_THAT(found(), testing::Not(testing::Contains("library.injected")));
  start(4);
  EXPECT_THAT(found(), testing::Contains("library.injected")) << "it was there before";
}

// With the system's C library, by its names.
class LibcTest : public CheckerTest {
 protected:
  void SetUp() override {
    auto libc = text::Module::analyze(kLibcPath);
    if (!libc) GTEST_SKIP() << libc.error().message;
    libc_ = *libc;
    session_.map(kLibc, {.path = kLibcPath, .location = kLibcPath});
  }
  const text::Module& libc() const { return *libc_; }
  std::uint64_t address(std::string_view name) {
    return kLibc + libc_->symbols().named(name).front().start;
  }

 private:
  std::shared_ptr<const text::Module> libc_;
};

TEST_F(LibcTest, CallSensitiveThroughAPointer) {
  go_to(BranchKind::icall, 0x1005, address("system"));
  EXPECT_THAT(found(), ElementsAre("call.sensitive"));
}

// What a compiler adds to every library wants to know whether there is __cxa_finalize.
TEST_F(LibcTest, CallFunctionThatNoFileAsksFor) {
  constexpr const char* kAsks = "/lib/x86_64-linux-gnu/libgcc_s.so.1";
  const auto library = text::Module::analyze(kAsks);
  if (!library) GTEST_SKIP() << library.error().message;
  ASSERT_TRUE((*library)->asks_for("__cxa_finalize"));
  EXPECT_FALSE((*library)->asks_for("malloc")) << "it is only called";
  session_.map(kLibc - 0x1000000, {.path = kAsks, .location = kAsks});
  go_to(BranchKind::icall, 0x1005, address("__cxa_finalize"));
  EXPECT_THAT(found(), IsEmpty());
  // One of them may look like a number of the library's.
  constexpr std::array kNames{"puts", "getenv", "mkdtemp"};
  const auto untaken = std::ranges::find_if(
      kNames, [&](const char* name) { return libc().is_exported_untaken(address(name) - kLibc); });
  ASSERT_NE(untaken, kNames.end());
  go_to(BranchKind::icall, 0x1005, address(*untaken));
  EXPECT_THAT(found(), ElementsAre("call.function"));
}

// A jump or call of a real program through the slot of abort.
TEST_F(LibcTest, PltRedirectedToAnotherFunctionThanItsName) {
  constexpr const char* kProgram = "/usr/bin/env";
  const auto program = text::Module::analyze(kProgram);
  if (!program) GTEST_SKIP() << program.error().message;
  std::uint64_t from = 0;
  for (std::uint64_t at = 0; at < 0x100000 && from == 0; ++at) {
    const text::Slot* slot = (*program)->slot_of(at);
    if (slot != nullptr && slot->name == "abort") from = at;
  }
  if (from == 0) GTEST_SKIP() << kProgram << " does not call abort";
  session_.map(kLibc - 0x1000000, {.path = kProgram, .location = kProgram});
  from += kLibc - 0x1000000;
  see({.from = from, .to = address("abort"), .kind = BranchKind::ijmp});
  EXPECT_THAT(found(), testing::Not(testing::Contains("plt.redirected")));
  see({.from = from, .to = address("puts"), .kind = BranchKind::ijmp});
  EXPECT_THAT(found(), testing::Contains("plt.redirected"));
}

// The trace is lost behind a call, and goes on at a synchronisation point.
constexpr Branch kLost = {
    .from = kBase + 0x1010, .to = kBase + 0x1010, .kind = BranchKind::lost, .flags = kResync};

TEST_F(CheckerTest, AFindingJustBeforeALossIsDoubtful) {
  go(BranchKind::call, 0x1000, 0x1018);
  EXPECT_FALSE(checker_->findings().at(0).is_doubtful());
  see(kLost);
  ASSERT_THAT(found(), ElementsAre("text.target"));
  EXPECT_TRUE(checker_->findings().at(0).is_doubtful());
}

TEST_F(CheckerTest, AFindingThatIsMadeAgainElsewhereIsNotDoubtful) {
  go(BranchKind::call, 0x1000, 0x1018);
  see(kLost);
  go(BranchKind::cond, 0x100a, 0x1009);
  go(BranchKind::call, 0x1000, 0x1018);
  const Finding finding = checker_->findings().at(0);
  EXPECT_EQ(finding.count, 2u);
  EXPECT_EQ(finding.doubtful, 1u);
  EXPECT_FALSE(finding.is_doubtful());
}

TEST_F(CheckerTest, ALossFarBehindCastsNoDoubt) {
  go(BranchKind::call, 0x1000, 0x1018);
  for (std::uint64_t i = 0; i < Doubt::kReach - 1; ++i) go(BranchKind::cond, 0x100a, 0x1009);
  see(kLost);
  EXPECT_TRUE(checker_->findings().at(0).is_doubtful()) << "within reach";

  checker_.reset();
  go(BranchKind::call, 0x1000, 0x1018);
  for (std::uint64_t i = 0; i < Doubt::kReach; ++i) go(BranchKind::cond, 0x100a, 0x1009);
  see(kLost);
  EXPECT_FALSE(checker_->findings().at(0).is_doubtful());
}

TEST_F(CheckerTest, AFindingRightBehindALossIsDoubtful) {
  see(kLost);
  see({.to = kBase + 0x1000, .kind = BranchKind::begin, .flags = kResync});
  go(BranchKind::call, 0x1000, 0x1018);
  EXPECT_TRUE(checker_->findings().at(0).is_doubtful());
  go(BranchKind::call, 0x1000, 0x1018);
  EXPECT_FALSE(checker_->findings().at(0).is_doubtful());
}

// Changed code makes a gap each time it runs; damage makes nothing up twice.
TEST_F(CheckerTest, AFindingAtManyLossesIsNotDoubtful) {
  for (std::uint64_t losses = 1; losses <= Finding::kNoAccident; ++losses) {
    go(BranchKind::call, 0x1000, 0x1018);
    go(BranchKind::call, 0x1000, 0x1018);
    see(kLost);
    EXPECT_EQ(checker_->findings().at(0).is_doubtful(), losses < Finding::kNoAccident) << losses;
    go(BranchKind::cond, 0x100a, 0x1009);
  }
}

TEST_F(CheckerTest, WhatGoesWrongRightBehindIsAStepOfTheSameAttack) {
  for (int i = 0; i < 40; ++i) go(BranchKind::cond, 0x100a, 0x1009);
  go(BranchKind::icall, 0x1005, 0x1011);
  go(BranchKind::ret, 0x1011, 0x1009);
  go(BranchKind::call, 0x1000, 0x1018);
  std::vector<Finding> attacks = by_attack(checker_->findings());
  ASSERT_EQ(attacks.size(), 1);
  EXPECT_EQ(attacks[0].rule->name, "call.target");
  ASSERT_EQ(attacks[0].steps.size(), 2);
  EXPECT_EQ(attacks[0].steps[0].rule->name, "return.target");
  EXPECT_EQ(attacks[0].steps[1].rule->name, "text.target");
}

TEST_F(CheckerTest, WhatGoesWrongLongAfterIsAnAttackOfItsOwn) {
  go(BranchKind::call, 0x1000, 0x1018);
  for (std::uint64_t i = 1; i < Finding::kBefore; ++i) go(BranchKind::cond, 0x100a, 0x1009);
  go(BranchKind::icall, 0x1005, 0x1011);
  EXPECT_EQ(by_attack(checker_->findings()).size(), 1);
  for (std::uint64_t i = 0; i < Finding::kBefore; ++i) go(BranchKind::cond, 0x100a, 0x1009);
  go(BranchKind::cond, 0x1009, 0x1018);
  EXPECT_EQ(by_attack(checker_->findings()).size(), 2);
}

TEST_F(CheckerTest, WhatIsNewToABaselineIsAStepOnlyOfItsOwnBranch) {
  map_program(dynamic_program(7));
  const Baseline::BuildId id = {7, 7, 7, 7};
  Baseline baseline;
  baseline.add({.from_module = id, .from = 0x1005, .to_module = id, .to = 0x1010});
  options_.baseline = &baseline;
  go(BranchKind::icall, 0x1005, 0x1011);
  go(BranchKind::icall, 0x1005, 0x1018);
  const std::vector<Finding> attacks = by_attack(checker_->findings());
  ASSERT_EQ(attacks.size(), 2);
  EXPECT_EQ(attacks[0].rule->name, "call.target");
  EXPECT_EQ(attacks[0].steps.size(), 1);
  EXPECT_EQ(attacks[1].rule->name, "baseline.new");
}

TEST_F(CheckerTest, AReturnSaysWhereItShouldHaveGoneAndWhichCallWasOpen) {
  go(BranchKind::call, 0x1000, 0x1010);
  go(BranchKind::ret, 0x1011, 0x1009);
  const Finding finding = checker_->findings().at(0);
  ASSERT_EQ(finding.facts.size(), 2);
  EXPECT_EQ(finding.facts[0].what, "should go to");
  EXPECT_EQ(finding.facts[0].address, kBase + 0x1005);
  EXPECT_EQ(finding.facts[1].what, "call open");
  EXPECT_EQ(finding.facts[1].address, kBase + 0x1000);
}

TEST_F(CheckerTest, AFindingHasTheInstructionsAtBothEnds) {
  go(BranchKind::call, 0x1000, 0x1010);
  go(BranchKind::ret, 0x1011, 0x1009);
  const Finding finding = checker_->findings().at(0);
  const auto texts = [](const std::vector<CodeLine>& lines) {
    std::vector<std::string> out;
    for (const CodeLine& line : lines) out.push_back(line.text);
    return out;
  };
  EXPECT_THAT(texts(finding.code_from), ElementsAre("nop", "ret"));
  EXPECT_THAT(texts(finding.code_to), ElementsAre("ret"));
}

TEST_F(CheckerTest, DoubtfulFindingsStandLast) {
  go(BranchKind::call, 0x1000, 0x1018);
  see(kLost);
  go(BranchKind::cond, 0x100a, 0x1009);
  map_program(program(), {.writing = session::Region::Writing::now});
  checker_->move_to(session_);
  go(BranchKind::call, 0x1000, 0x1010);
  EXPECT_THAT(found(), ElementsAre("code.writable", "text.target"));
}

}  // namespace
}  // namespace hodo::check
