// What leaves several calls at once: longjmp, exceptions; and returns that are none.
#include <gtest/gtest.h>

#include "call_tree_text.h"
#include "fixture.h"
#include "hodo/analyze/open_calls.h"

namespace hodo::analyze {
namespace {

TEST(CallTree, AReturnThatSkipsFramesLeavesThem) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).call(0x1110, 0x1200).call(0x1210, 0x1300);
  path.ret(0x1310, 0x1015).jmp(0x1020, 0x1000);
  EXPECT_EQ(shape_of(path), "main:1/2(f:1/1(g:1/1(h:1/1)))");
}

TEST(CallTree, LongjmpLeavesTheFramesItSkips) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).call(0x1110, 0x1200).call(0x1210, 0x1300);
  path.go(BranchKind::ijmp, 0x1310, 0x1050).call(0x1060, 0x1200);
  EXPECT_EQ(shape_of(path), "main:1/2(f:1/1(g:1/1(h:1/1)) g:1/0)");
}

// f calls itself; one of the calls calls setjmp, and h goes back there.
Path recursion_with_setjmp(bool outer, bool inner) {
  Path path;
  const auto set = [&path] { path.call(0x1110, 0x1a00).ret(0x1a10, 0x1115); };
  path.begin(0x1000).call(0x1010, 0x1100);
  if (outer) set();
  path.call(0x1120, 0x1100);
  if (inner) set();
  path.call(0x1120, 0x1100).call(0x1130, 0x1300).go(BranchKind::ijmp, 0x1310, 0x1115);
  path.call(0x1140, 0x1200);
  return path;
}

TEST(CallTree, LongjmpGoesToTheCallThatCalledSetjmpThere) {
  EXPECT_EQ(shape_of(recursion_with_setjmp(true, false)),
            "main:1/1(f:1/3(_setjmp:1/1 f:1/1(f:1/1(h:1/1)) g:1/0))");
  EXPECT_EQ(shape_of(recursion_with_setjmp(true, true)),
            "main:1/1(f:1/2(_setjmp:1/1 f:1/3(_setjmp:1/1 f:1/1(h:1/1) g:1/0)))");
}

// The innermost, as the call that went there is not known.
TEST(CallTree, LongjmpToWhereNoOpenCallCalledSetjmp) {
  EXPECT_EQ(shape_of(recursion_with_setjmp(false, false)),
            "main:1/1(f:1/1(f:1/1(f:1/2(h:1/1 g:1/0))))");
  Path path;  // the call that did has returned
  path.begin(0x1000).call(0x1010, 0x1100).call(0x1120, 0x1100);
  path.call(0x1110, 0x1a00).ret(0x1a10, 0x1115).ret(0x1150, 0x1125);
  path.call(0x1120, 0x1100).call(0x1130, 0x1300).go(BranchKind::ijmp, 0x1310, 0x1115);
  EXPECT_EQ(shape_of(path), "main:1/1(f:1/2(f:2/3(_setjmp:1/1 h:1/1)))");
}

TEST(OpenCalls, WhoCalledSetjmpIsSaved) {
  const Path path = recursion_with_setjmp(true, false);
  const std::span<const Branch> all(path.branches());
  for (std::size_t i = 0; i <= all.size(); ++i) {
    Program program;
    Following following(program, nanosecond_clock());
    OpenCalls whole(following, nullptr);
    whole.branches(0, all);
    OpenCalls before(following, nullptr);
    before.branches(0, all.first(i));
    OpenCalls behind(following, nullptr);
    behind.restore(before.save());
    behind.branches(0, all.subspan(i));
    EXPECT_EQ(text_of(behind.save()), text_of(whole.save())) << i;
  }
}

TEST(OpenCalls, AsManySetjmpsAreRememberedAsLongjmpMayMean) {
  Program program;
  Following following(program, nanosecond_clock());
  OpenCalls calls(following, nullptr);
  Path path;
  path.begin(0x1000);
  for (int i = 0; i < 100; ++i) {
    path.call(i == 0 ? 0x1010 : 0x1120, 0x1100).call(0x1110, 0x1a00).ret(0x1a10, 0x1115);
  }
  calls.branches(0, path.branches());
  const SavedCalls saved = calls.save();
  ASSERT_EQ(saved.set_jumps.size(), 64u);
  EXPECT_EQ(saved.set_jumps.front(), (SetJump{.level = 38, .site = 0x1110}));
  EXPECT_EQ(saved.set_jumps.back(), (SetJump{.level = 101, .site = 0x1110}));
}

// Somebody made it up.
TEST(OpenCalls, SavedSetjmpsOfCallsThatThereAreNot) {
  Program program;
  Following following(program, nanosecond_clock());
  OpenCalls calls(following, nullptr);
  calls.restore({.started = true,
                 .open = {{.entry = 0x1000}},
                 .set_jumps = {{0, 0x1010}, {1, 0x1010}, {2, 0x1010}, {~0u, 0x1010}}});
  EXPECT_EQ(calls.save().set_jumps, (std::vector<SetJump>{{.level = 1, .site = 0x1010}}));
}

TEST(CallTree, AnUnwinderReturnsToALandingPad) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).call(0x1110, 0x1200).call(0x1210, 0x1300);
  path.ret(0x1310, 0x1180).ret(0x1190, 0x1015).jmp(0x1020, 0x1000);
  EXPECT_EQ(shape_of(path), "main:1/2(f:1/2(g:1/1(h:1/1)))");
}

// Over a return address that was written over.
TEST(CallTree, AReturnToNowhereLeavesTheCallersOpen) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).call(0x1110, 0x1200).ret(0x1210, 0x41414141);
  EXPECT_EQ(shape_of(path), "main:1/1(f:1/1(g:1/1 [unknown]:1/0))");
  path.ret(0x41414145, 0x1115).ret(0x1120, 0x1015);
  EXPECT_EQ(shape_of(path), "main:1/1(f:1/2(g:1/1 [unknown]:1/1))");
}

TEST(CallTree, PushAndReturnIsAJump) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100);
  path.ret(0x1110, 0x1120);                      // within f
  path.ret(0x1130, 0x1200).ret(0x1210, 0x1015);  // to g
  EXPECT_EQ(shape_of(path), "main:1/1(f:1/2(g:1/1))");
}

TEST(CallTree, ACallForTheProgramCounterIsNone) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1015).jmp(0x1020, 0x1000);
  EXPECT_EQ(shape_of(path), "main:1/2");
}

}  // namespace
}  // namespace hodo::analyze
