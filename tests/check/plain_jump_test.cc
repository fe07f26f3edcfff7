// Which jumps need no closer look.
#include "plain_jump.h"

#include <gtest/gtest.h>

#include "small_program.h"

namespace hodo::check {
namespace {

constexpr std::uint64_t kJump = 0x100a;  // JE to the return before it
constexpr std::uint64_t kTarget = 0x1009;

class PlainJump : public testing::Test {
 protected:
  End end(std::uint64_t vaddr) const {
    return {.kind = End::Kind::file,
            .address = kBase + vaddr,
            .vaddr = vaddr,
            .module = module_.get(),
            .marks = module_->marks(vaddr)};
  }
  static Branch jump(const End& from, const End& to) {
    return {.from = from.address, .to = to.address, .kind = BranchKind::cond};
  }
  static bool is_plain(const End& from, const End& to) {
    return next_of_plain_jump(jump(from, to), from, to).has_value();
  }

  std::shared_ptr<const text::Module> module_ = *text::Module::analyze(program().build());
};

TEST_F(PlainJump, AJumpThatTheFileHas) {
  const End from = end(kJump), to = end(kTarget);
  EXPECT_EQ(next_of_plain_jump(jump(from, to), from, to), kBase + kJump + 2);
}

TEST_F(PlainJump, NoOtherBranch) {
  const End from = end(kJump), to = end(kTarget);
  for (const BranchKind kind : {BranchKind::jmp, BranchKind::call, BranchKind::ret}) {
    Branch other = jump(from, to);
    other.kind = kind;
    EXPECT_FALSE(next_of_plain_jump(other, from, to));
  }
  Branch interrupted = jump(from, to);
  interrupted.flags = kAsync;
  EXPECT_FALSE(next_of_plain_jump(interrupted, from, to));
}

TEST_F(PlainJump, NoneFromOrToElsewhere) {
  EXPECT_TRUE(is_plain(end(kJump), end(kTarget)));
  EXPECT_FALSE(is_plain(end(kJump), end(0x1005)));  // its encoding leads to another place
  EXPECT_FALSE(is_plain(end(kJump + 1), end(kTarget)));
  EXPECT_FALSE(is_plain(end(0x1009), end(kTarget)));  // no jump
  const auto another = *text::Module::analyze(program().build());
  End to = end(kTarget);
  to.module = another.get();
  EXPECT_FALSE(is_plain(end(kJump), to));
}

// Another part of the file is mapped at the place to which the distance leads.
TEST_F(PlainJump, NoneToAnotherImage) {
  End to = end(kTarget);
  to.vaddr = kJump;
  to.marks = end(kTarget).marks;
  EXPECT_FALSE(is_plain(end(kJump), to));
}

TEST_F(PlainJump, NoneOfCodeThatMayBeAnother) {
  const auto both = [&](auto change) {
    End from = end(kJump), to = end(kTarget);
    change(from);
    const bool by_source = is_plain(from, to);
    from = end(kJump);
    change(to);
    return by_source || is_plain(from, to);
  };
  EXPECT_FALSE(both([](End& e) { e.in_kept = true; }));
  EXPECT_FALSE(both([](End& e) { e.writing = session::Region::Writing::now; }));
  EXPECT_FALSE(both([](End& e) { e.module = nullptr; }));
}

TEST_F(PlainJump, NoneToWhereMoreIsToBeSaid) {
  for (const text::Mark mark :
       {text::kStart, text::kTaken, text::kReturnSite, text::kLanding, text::kPlt}) {
    End to = end(kTarget);
    to.marks |= mark;
    EXPECT_FALSE(is_plain(end(kJump), to)) << mark;
  }
  for (const text::Mark mark : {text::kPlt, text::kSwitchesStack, text::kPushedTarget}) {
    End from = end(kJump);
    from.marks |= mark;
    EXPECT_FALSE(is_plain(from, end(kTarget))) << mark;
  }
  End to = end(kTarget);
  to.marks = text::kInsn | text::kFlow;  // no branch leads there
  EXPECT_FALSE(is_plain(end(kJump), to));
}

}  // namespace
}  // namespace hodo::check
