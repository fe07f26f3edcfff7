// Whose code made memory executable, and what is said of code there.
#include "makers.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "fake_session.h"
#include "hodo/check/checker.h"
#include "small_program.h"

namespace hodo::check {
namespace {

constexpr std::uint64_t kGenerator = 0x10000000;
constexpr std::uint64_t kLibc = 0x20000000;
constexpr std::uint64_t kCode = 0x30000000;
constexpr const char* kLibcPath = "/lib/x86_64-linux-gnu/libc.so.6";
constexpr std::int32_t kMain = 1, kOther = 2;
// mov eax, 42; syscall; ret: in the program's data.
const std::vector<std::uint8_t> kCopied = {0xb8, 42, 0, 0, 0, 0x0f, 0x05, 0xc3};
// And what follows there.
const std::vector<std::uint8_t> kBehindCopied = {0x31, 0xc0, 0x31, 0xdb, 0x31, 0xc9, 0x31, 0xd2};

class MakersTest : public testing::Test {
 protected:
  MakersTest() {
    text::ElfBuilder generator = program();
    for (const char c : std::string_view("zend_")) text::append(generator.data, c);
    text::ElfBuilder own = program();
    for (const std::uint8_t byte : kCopied) text::append(own.data, byte);
    for (const std::uint8_t byte : kBehindCopied) text::append(own.data, byte);
    program_ = path_of(own);
    session_.run_code(kCode, kCopied);
    generator_ = path_of(generator);
    session_.map(kBase, {.path = "/bin/prog", .location = program_});
    session_.map(kGenerator, {.path = "/usr/bin/php8.2", .location = generator_});
    session_.map(kLibc, {.path = kLibcPath, .location = kLibcPath});
    grant(kMain, 100);
  }

  // The memory can be executed since a system call of the thread that it was in at this time.
  void grant(std::int32_t tid, std::uint64_t time) {
    session_.map(kCode, {.area = "//anon", .grant = session::Grant{tid, time}});
  }
  void see(const Branch& branch, std::int32_t tid = kMain) {
    if (!checker_) checker_.emplace(session_, Options{});
    checker_->branches({.pid = 1, .tid = tid}, std::span(&branch, 1));
  }
  // A system call of the code there, between the two times.
  void ask(std::uint64_t from, std::uint64_t begin, std::uint64_t end, std::int32_t tid = kMain) {
    see({.from = from, .time = begin, .kind = BranchKind::syscall}, tid);
    see({.to = from + 2, .time = end, .kind = BranchKind::begin}, tid);
  }
  // CALL RAX of the file there.
  void call(std::uint64_t base, std::uint64_t to) {
    session_.run_code(base + text::kText, program().text);
    see({.from = base + 0x1005, .to = to, .kind = BranchKind::icall});
  }
  void run_code() {
    see({.from = kBase + 0x1005, .to = kCode, .time = 200, .kind = BranchKind::icall});
  }
  // What is said of that.
  std::optional<Grade> grade(std::string_view rule = "code.unknown") {
    // The worst comes first.
    for (const Finding& f : checker_->findings()) {
      if (f.rule->name == rule) return f.grade;
    }
    return std::nullopt;
  }

  FakeSession session_;
  std::optional<Checker> checker_;
  std::string program_;

 private:
  std::string generator_;
};

TEST_F(MakersTest, AGeneratorThatAskedForItMadeIt) {
  ask(kGenerator + 0x1010, 90, 110);
  run_code();
  EXPECT_EQ(grade(), Grade::explained);
}

TEST_F(MakersTest, CodeThatTheProgramMadeAnswersForItselfUnlessItIsACopyOfItsData) {
  session_.run_code(kCode, {0xb8, 43, 0, 0, 0, 0x90, 0x90, 0xc3});
  ask(kBase + 0x1010, 90, 110);
  run_code();
  EXPECT_EQ(grade(), Grade::explained);

  checker_.reset();
  session_.run_code(kCode, {0xb8, 42, 0, 0, 0});
  ask(kBase + 0x1010, 90, 110);
  run_code();
  EXPECT_EQ(grade(), Grade::explained) << "few bytes are in any file";
}

TEST_F(MakersTest, AFewBytesOfTheDataAreACopyOnlyWithWhatRanBeforeThem) {
  std::vector<std::uint8_t> code = {0x90, 0xc3};
  code.insert(code.end(), kCopied.begin(), kCopied.end());
  const Branch into = {
      .from = kBase + 0x1005, .to = kCode + 2, .time = 200, .kind = BranchKind::icall};
  session_.run_code(kCode, code);
  ask(kBase + 0x1010, 90, 110);
  see(into);
  EXPECT_EQ(grade(), Grade::explained);

  checker_.reset();
  code.insert(code.end(), kBehindCopied.begin(), kBehindCopied.end());
  session_.run_code(kCode, code);
  ask(kBase + 0x1010, 90, 110);
  see(into);
  EXPECT_EQ(grade(), Grade::impossible) << "so many are telling by themselves";
}

TEST_F(MakersTest, WhereThePathPausesNothingIsEntered) {
  std::vector<std::uint8_t> code = {0xb8, 43, 0, 0, 0, 0x90, 0xeb, 0x00};
  const std::uint64_t copy = kCode + code.size();
  code.insert(code.end(), kCopied.begin(), kCopied.end());
  code.insert(code.end(), kBehindCopied.begin(), kBehindCopied.end());
  const auto pause = [&](std::uint64_t at, std::uint64_t on) {
    see({.from = at, .time = 200, .kind = BranchKind::end, .flags = kAsync | kTraceEnd});
    see({.to = on, .time = 300, .kind = BranchKind::begin});
  };
  const auto begin = [&](const std::vector<std::uint8_t>& bytes) {
    checker_.reset();
    session_.run_code(kCode, bytes);
    ask(kBase + 0x1010, 90, 110);
    run_code();
  };
  begin(code);
  see({.from = copy - 2, .to = copy, .time = 200, .kind = BranchKind::jmp});
  pause(copy, copy);
  pause(copy, copy);
  EXPECT_EQ(grade(), Grade::explained);

  begin(code);
  pause(copy, copy);
  EXPECT_EQ(grade(), Grade::explained) << "in a straight line";

  begin(code);
  pause(copy - 2, copy);
  EXPECT_EQ(grade(), Grade::impossible) << "elsewhere";

  // Other code than what was called.
  begin({0xb8, 43, 0, 0, 0, 0x90, 0xeb, 0x00});
  EXPECT_EQ(grade(), Grade::explained);
  session_.run_code(kCode, kCopied);
  grant(kMain, 100);  // as another region
  pause(kCode, kCode);
  EXPECT_EQ(grade(), Grade::impossible);
}

TEST_F(MakersTest, CodeThatTheProgramMadeMakesNoSystemCalls) {
  session_.run_code(kCode, {0xb8, 43, 0, 0, 0, 0x0f, 0x05, 0xc3});
  ask(kBase + 0x1010, 90, 110);
  run_code();
  ask(kCode + 5, 210, 220);
  EXPECT_EQ(checker_->findings().front().grade, Grade::impossible);

  checker_.reset();
  ask(kGenerator + 0x1010, 90, 110);
  run_code();
  ask(kCode + 5, 210, 220);
  EXPECT_EQ(grade(), Grade::explained) << "a known generator's does";
}

TEST_F(MakersTest, AThreadInWhichSomethingWasFoundAnswersForNothing) {
  session_.run_code(kCode, {0xb8, 43, 0, 0, 0, 0x90, 0x90, 0xc3});
  see({.from = kBase + 0x1005, .to = kBase + 0x1012, .time = 50, .kind = BranchKind::icall});
  ask(kBase + 0x1010, 90, 110);
  run_code();
  EXPECT_EQ(grade(), Grade::impossible);
}

TEST_F(MakersTest, OnTheHeapOnlyAnImageOfGclAnswersForItself) {
  const auto grade_on_heap = [&](std::uint64_t asked, const std::vector<std::uint8_t>& code) {
    checker_.reset();
    session_.run_code(kCode, code);
    session_.map(kCode, {.area = "[heap]", .grant = session::Grant{kMain, 100}});
    ask(asked + 0x1010, 90, 110);
    run_code();
    return grade("code.heap");
  };
  const std::vector<std::uint8_t> compiled = {0xb8, 43, 0, 0, 0, 0x90, 0x90, 0xc3};
  EXPECT_EQ(grade_on_heap(kBase, compiled), Grade::impossible);

  text::ElfBuilder image = program();
  for (const char c : std::string_view("GCL (GNU Common Lisp) siLsave_system")) {
    text::append(image.data, c);
  }
  const std::string path = path_of(image);
  session_.map(kBase, {.path = "/bin/prog", .location = path});
  EXPECT_EQ(grade_on_heap(kBase, compiled), Grade::explained);
  EXPECT_EQ(grade_on_heap(kGenerator, compiled), Grade::impossible) << "another file asked for it";
}

TEST_F(MakersTest, WhatAThreadThatComesLaterMadeIsSaidAtTheEnd) {
  session_.run_code(kCode, {0xb8, 43, 0, 0, 0, 0x90, 0x90, 0xc3});
  session_.map(kGenerator, {.path = "/usr/bin/other", .location = program_});
  grant(kOther, 100);
  run_code();
  EXPECT_EQ(checker_->found(), 0U);
  ask(kBase + 0x1010, 90, 110, kOther);
  EXPECT_EQ(grade(), Grade::explained);

  checker_.reset();
  run_code();
  EXPECT_EQ(grade(), Grade::impossible) << "nobody has";
}

TEST_F(MakersTest, BesideAGeneratorTheProgramMakesCodeThatNobodyExplains) {
  ask(kBase + 0x1010, 90, 110);
  run_code();
  EXPECT_EQ(grade(), Grade::impossible);
}

TEST_F(MakersTest, TheCallIsTheOneThatTheThreadWasInThen) {
  ask(kGenerator + 0x1010, 80, 99);
  ask(kBase + 0x1010, 99, 100);
  ask(kGenerator + 0x1010, 101, 120);
  run_code();
  EXPECT_EQ(grade(), Grade::impossible);
}

TEST_F(MakersTest, TheCLibraryAsksForItsCaller) {
  call(kBase, kGenerator + 0x1010);
  call(kGenerator, kLibc + 0x30000);
  ask(kLibc + 0x30000, 90, 110);
  run_code();
  EXPECT_EQ(grade(), Grade::explained);

  checker_.reset();
  call(kGenerator, kBase + 0x1010);
  call(kBase, kLibc + 0x30000);
  ask(kLibc + 0x30000, 90, 110);
  run_code();
  EXPECT_EQ(grade(), Grade::impossible) << "whom a generator has called";
}

TEST_F(MakersTest, WhereNobodyKnowsWhoAskedAGeneratorMayHaveMadeIt) {
  run_code();
  EXPECT_EQ(grade(), Grade::explained);

  checker_.reset();
  ask(kLibc + 0x30000, 90, 110);
  run_code();
  EXPECT_EQ(grade(), Grade::explained) << "its callers are not known";

  checker_.reset();
  see({.from = kBase + 0x1010, .time = 90, .kind = BranchKind::syscall});
  see({.to = kBase + 0x1010, .time = 110, .kind = BranchKind::begin, .flags = kResync});
  run_code();
  EXPECT_EQ(grade(), Grade::explained) << "the trace was lost on the way";
}

TEST_F(MakersTest, AThreadThatComesLaterMayHaveAsked) {
  grant(kOther, 100);
  run_code();
  ask(kGenerator + 0x1010, 90, 110, kOther);
  EXPECT_EQ(grade(), Grade::explained);

  checker_.reset();
  run_code();
  ask(kBase + 0x1010, 90, 110, kOther);
  EXPECT_EQ(grade(), Grade::impossible);
}

// Of data, of which code that is a copy was not generated.
TEST_F(MakersTest, EachPlaceIsComparedHoweverManyThereAre) {
  constexpr std::uint64_t kPlaces = 5000;
  session_.run_code(kCode, {0xb8, 43, 0, 0, 0, 0x90, 0x90, 0xc3});
  ask(kBase + 0x1010, 90, 110);
  for (std::uint64_t i = 0; i < kPlaces; ++i) {
    const std::uint64_t to = kCode + 0x100 + i;
    see({.from = kBase + 0x1005, .to = to, .time = 200, .kind = BranchKind::icall});
  }
  EXPECT_EQ(grade(), Grade::explained);
  session_.run_code(kCode + 0x10000, kCopied);
  see({.from = kBase + 0x1005, .to = kCode + 0x10000, .time = 200, .kind = BranchKind::icall});
  EXPECT_EQ(grade(), Grade::impossible);
}

TEST_F(MakersTest, OtherCodeAtTheSamePlaceIsComparedAnew) {
  session_.run_code(kCode, {0xb8, 43, 0, 0, 0, 0x90, 0x90, 0xc3});
  ask(kBase + 0x1010, 90, 110);
  run_code();
  EXPECT_EQ(grade(), Grade::explained);
  session_.run_code(kCode, kCopied);
  grant(kMain, 100);  // as another region
  see({.from = kBase + 0x1005, .to = kCode, .time = 300, .kind = BranchKind::ijmp});
  EXPECT_EQ(grade(), Grade::impossible);
}

// Beyond what is kept until it is known who made the code.
TEST_F(MakersTest, WhatWasNotComparedIsToldOf) {
  constexpr std::uint64_t kKept = std::uint64_t{1} << 16;
  session_.run_code(kCode, {0xb8, 43, 0, 0, 0, 0x90, 0x90, 0xc3});
  session_.map(kGenerator, {.path = "/usr/bin/other", .location = program_});
  grant(kOther, 100);
  for (std::uint64_t i = 0; i < kKept + 3; ++i) {
    const std::uint64_t to = kCode + 0x100 + i;
    see({.from = kBase + 0x1005, .to = to, .time = 200, .kind = BranchKind::icall});
  }
  ask(kBase + 0x1010, 90, 110, kOther);
  EXPECT_EQ(grade(), Grade::explained);
  const auto unjudged = checker_->unjudged();
  ASSERT_EQ(unjudged.size(), 1U);
  EXPECT_EQ(unjudged[0].path, "/bin/prog");
  EXPECT_EQ(unjudged[0].branches, 3U);
}

TEST_F(MakersTest, AJumpToASystemCallIsTwoThingsThatWait) {
  session_.run_code(kCode, {0x0f, 0x05, 0xb8, 43, 0, 0, 0, 0xc3});
  session_.map(kGenerator, {.path = "/usr/bin/other", .location = program_});
  grant(kOther, 100);
  run_code();
  ask(kCode, 210, 220);
  ask(kBase + 0x1010, 90, 110, kOther);
  EXPECT_EQ(checker_->findings().front().grade, Grade::impossible) << "which no generator makes";
}

// As a recording that is still written is checked.
TEST_F(MakersTest, WhatWaitsIsKeptForAnotherSession) {
  session_.run_code(kCode, kCopied);
  session_.map(kGenerator, {.path = "/usr/bin/other", .location = program_});
  grant(kOther, 100);
  run_code();
  checker_->move_to(session_);
  ask(kBase + 0x1010, 90, 110, kOther);
  EXPECT_EQ(grade(), Grade::impossible);
}

TEST_F(MakersTest, CodeAsksForItsOwnMaker) {
  constexpr std::uint64_t kMore = kCode + 0x10000;
  session_.map(kMore, {.area = "//anon", .grant = session::Grant{kMain, 150}});
  ask(kBase + 0x1010, 90, 110);
  ask(kCode + 0x10, 140, 160);
  see({.from = kBase + 0x1005, .to = kMore, .time = 200, .kind = BranchKind::icall});
  EXPECT_EQ(grade(), Grade::impossible);
}

}  // namespace
}  // namespace hodo::check
