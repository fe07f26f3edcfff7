// What is known of a branch, where the mappings change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "fake_session.h"
#include "hodo/check/checker.h"
#include "small_program.h"

namespace hodo::check {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kAway = kBase + 0x1018;  // h

// From some time on other memory lies over h. Mappings somewhere change all the time.
class Remapped final : public FakeSession {
 public:
  explicit Remapped(std::uint64_t since) : since_(since) {
    const text::ElfBuilder elf = program();
    file_ = path_of(elf);
    map(kBase, {.path = "/bin/prog", .location = file_});
    map(kBase + 0x10000, {.area = "//anon"});
    run_code(kBase + text::kText, elf.text);
  }

  std::optional<session::Region> region(std::uint32_t space, std::uint64_t address,
                                        std::uint64_t time) const override {
    const bool other = time >= since_ && address >= kAway;
    return FakeSession::region(space, other ? kBase + 0x10000 : address, time);
  }
  Id id(std::uint32_t space, std::uint64_t address, std::uint64_t time) const override {
    ++looks_;
    Id out = FakeSession::id(space, address, time);
    out.until = address < kAway || time >= since_ ? kNever : since_;
    return out;
  }
  std::uint32_t generation(std::uint32_t, std::uint64_t time) const override {
    return static_cast<std::uint32_t>(time / 100);
  }
  int looks() const { return looks_; }

 private:
  std::uint64_t since_;
  std::string file_;
  mutable int looks_ = 0;
};

class MappingChangesTest : public testing::Test {
 protected:
  // f calls h by a pointer, and h returns.
  void call_at(std::uint64_t time) {
    const Branch call{
        .from = kBase + 0x1005, .to = kAway, .time = time, .insns = 5, .kind = BranchKind::icall};
    const Branch back{.from = kBase + 0x101a,
                      .to = kBase + 0x1007,
                      .time = time,
                      .insns = 5,
                      .kind = BranchKind::ret};
    checker_.branches({.pid = 1, .tid = 1}, std::span(&call, 1));
    checker_.branches({.pid = 1, .tid = 1}, std::span(&back, 1));
  }
  std::vector<std::string> found() {
    std::vector<std::string> out;
    for (const Finding& f : checker_.findings()) out.emplace_back(f.rule->name);
    return out;
  }

  Remapped session_{400};
  Options options_;
  Checker checker_{session_, options_};
};

TEST_F(MappingChangesTest, ABranchIsJudgedAnewWhereItsTargetLiesElsewhere) {
  call_at(110);
  call_at(220);
  call_at(330);
  EXPECT_THAT(found(), IsEmpty());
  call_at(410);
  EXPECT_THAT(found(), ElementsAre("code.unknown"));
}

// Another thread may be decoded later and have run before.
TEST_F(MappingChangesTest, ABranchIsJudgedAnewWhereItsTargetLayElsewhere) {
  call_at(410);
  ASSERT_THAT(found(), ElementsAre("code.unknown"));
  call_at(120);
  call_at(430);
  ASSERT_EQ(checker_.findings().size(), 1u);
  EXPECT_EQ(checker_.findings().at(0).count, 2u);
}

TEST_F(MappingChangesTest, WhereItLiesIsNotLookedForWhileItStays) {
  call_at(110);
  const int looks = session_.looks();
  call_at(220);
  call_at(330);
  EXPECT_EQ(session_.looks(), looks);
}

}  // namespace
}  // namespace hodo::check
