// Call trees: calls, tail calls, stubs; time, limits and threads are summed up.
#include "hodo/analyze/call_tree.h"

#include <gtest/gtest.h>

#include <utility>

#include "call_tree_text.h"
#include "fixture.h"

namespace hodo::analyze {
namespace {

TEST(CallTree, CallsAndReturnsNest) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).call(0x1110, 0x1200).ret(0x1210, 0x1115);
  path.ret(0x1120, 0x1015).call(0x1020, 0x1200).ret(0x1210, 0x1025);
  path.call(0x1010, 0x1100).ret(0x1120, 0x1015).jmp(0x1030, 0x1010);
  EXPECT_EQ(shape_of(path), "main:1/4(f:2/3(g:1/1) g:1/1)");
}

TEST(CallTree, RecursionIsAPathPerDepth) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).call(0x1110, 0x1100).call(0x1110, 0x1100);
  path.ret(0x1120, 0x1115).ret(0x1120, 0x1115).ret(0x1120, 0x1015).jmp(0x1020, 0x1000);
  EXPECT_EQ(shape_of(path), "main:1/2(f:1/2(f:1/2(f:1/1)))");
}

TEST(CallTree, AJumpToAFunctionIsATailCallAndOneReturnLeavesBoth) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).jmp(0x1110, 0x1200).jmp(0x1210, 0x1300);
  path.ret(0x1310, 0x1015).call(0x1020, 0x1200);
  EXPECT_EQ(shape_of(path), "main:1/2(f:1/1(g:1/1(h:1/1)) g:1/0)");
}

TEST(CallTree, TailCallsThatGoRoundStayAsDeepAsTheyAre) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100);
  for (int i = 0; i < 100; ++i) path.jmp(0x1110, 0x1200).jmp(0x1210, 0x1100);
  path.ret(0x1120, 0x1015);
  EXPECT_EQ(shape_of(path), "main:1/1(f:1/101(g:100/100))");
}

TEST(CallTree, TheColdPartOfAFunctionIsTheFunction) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100);
  path.go(BranchKind::cond, 0x1110, 0x1800).jmp(0x1810, 0x1120).ret(0x1130, 0x1015);
  EXPECT_EQ(shape_of(path), "main:1/1(f:1/3)");
}

// f's cold part is the middle of g here, as it is a function of its own without symbols. It calls
// f, which goes to its cold part once more, and back. No call of g begins there.
Path recursion_by_a_part(BranchKind jump) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).go(jump, 0x1110, 0x1250).call(0x1260, 0x1100);
  path.go(jump, 0x1110, 0x1250).jmp(0x1270, 0x1120).ret(0x1130, 0x1265);
  path.jmp(0x1270, 0x1120).ret(0x1130, 0x1015).jmp(0x1020, 0x1000);
  return path;
}

TEST(CallTree, AJumpIntoAPartOfTheFunctionLeavesNoCalls) {
  EXPECT_EQ(shape_of(recursion_by_a_part(BranchKind::cond)),
            "main:1/2(f:1/2(g:0/2(f:1/2(g:0/1))))");
  EXPECT_EQ(shape_of(recursion_by_a_part(BranchKind::jmp)), "main:1/2(f:1/2(g:0/2(f:1/2(g:0/1))))");
}

TEST(CallTree, ATableOfCasesMayLeadToAPartOfTheFunction) {
  EXPECT_EQ(shape_of(recursion_by_a_part(BranchKind::ijmp)),
            "main:1/2(f:1/2(g:0/2(f:1/2(g:0/1))))");
}

TEST(CallTree, StubsAreTheirCallers) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1900).go(BranchKind::ijmp, 0x1900, 0x1300);
  path.ret(0x1310, 0x1015);
  EXPECT_EQ(shape_of(path), "main:1/2(h:1/1)");
}

// The first call of a function: its stub, the nameless head of the PLT, the dynamic linker.
TEST(CallTree, AStubThatIsResolved) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1900).jmp(0x1900, 0x2000);
  path.go(BranchKind::ijmp, 0x2006, 0x3000).go(BranchKind::ijmp, 0x3010, 0x1300);
  path.ret(0x1310, 0x1015);
  EXPECT_EQ(shape_of(path), "main:1/3(_dl_resolve:1/1(h:1/1))");
}

TEST(CallTree, WhatTheResolverFoundTakesItsPlace) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1900).jmp(0x1900, 0x2000);
  path.go(BranchKind::ijmp, 0x2006, 0x3100).call(0x3110, 0x3000).ret(0x3010, 0x3115);
  path.go(BranchKind::ijmp, 0x3120, 0x1300).ret(0x1310, 0x1015);
  EXPECT_EQ(shape_of(path), "main:1/3(_dl_runtime_resolve_xsave:1/2(_dl_resolve:1/1) h:1/1)");
}

TEST(CallTree, TimeIsThatBetweenBranchesAndSumsUp) {
  Program program;
  CallTree tree(program, nanosecond_clock());
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).call(0x1110, 0x1200).ret(0x1210, 0x1115);
  path.ret(0x1120, 0x1015);
  tree.branches({}, path.branches());
  std::vector<CallTree::Totals> totals = tree.inclusive();
  ASSERT_EQ(tree.nodes().size(), 5u);
  EXPECT_EQ(totals[1].time, 4u) << "the thread";
  EXPECT_EQ(totals[3].time, 3u) << "f with g";
  EXPECT_EQ(tree.nodes()[3].time, 2u) << "f alone";
  EXPECT_EQ(totals[1].instructions, 4u);
}

TEST(CallTree, BehindTheLimitPathsCountAsOther) {
  Program program;
  CallTree tree(program, nanosecond_clock(), 3);
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).call(0x1110, 0x1200).call(0x1210, 0x1300);
  path.ret(0x1310, 0x1215).ret(0x1220, 0x1115).ret(0x1120, 0x1015).jmp(0x1020, 0x1000);
  tree.branches({}, path.branches());
  EXPECT_EQ(shape(tree), "main:1/2(f:1/2)");
  EXPECT_EQ(tree.nodes()[0].instructions, 3u);
  EXPECT_EQ(tree.nodes()[0].calls, 2u);
}

}  // namespace
}  // namespace hodo::analyze
