// Where a path is interrupted or goes on elsewhere: system calls, signal handlers, filters, gaps,
// exec.
#include <gtest/gtest.h>

#include "call_tree_text.h"
#include "fixture.h"

namespace hodo::analyze {
namespace {

TEST(CallTree, SystemCallsGoOnBehindThemselves) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).syscall(0x1110).begin(0x1112).ret(0x1120, 0x1015);
  EXPECT_EQ(shape_of(path), "main:1/1(f:1/2)");
}

// g is the handler; it returns to the trampoline at 0x2000, which returns by a system call.
TEST(CallTree, ASignalHandlerIsBelowWhatItInterrupts) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).signal(0x1110).begin(0x1200);
  path.call(0x1210, 0x1300).ret(0x1310, 0x1215).ret(0x1220, 0x2000).syscall(0x2007);
  path.begin(0x1110).ret(0x1120, 0x1015).jmp(0x1020, 0x1000);
  EXPECT_EQ(shape_of(path), "main:1/2(f:1/2(g:1/3(h:1/1)))");
}

TEST(CallTree, AHandlerThatRunsBehindASystemCall) {
  Path path;
  path.begin(0x1000).syscall(0x1010).begin(0x1200).ret(0x1220, 0x2000).syscall(0x2007);
  path.begin(0x1012).jmp(0x1020, 0x1000);
  EXPECT_EQ(shape_of(path), "main:1/2(g:1/2)");
}

// Those of f and h are probed, which is jumped to.
TEST(CallTree, FunctionsWhoseReturnTheKernelProbesReturnByItsPage) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).jmp(0x1110, 0x1300).ret(0x1310, 0x5000);
  path.syscall(0x5010).begin(0x5000).signal(0x5000).begin(0x1015).call(0x1020, 0x1100);
  path.ret(0x1110, 0x5000).ret(0x5017, 0x1025).jmp(0x1030, 0x1000);
  EXPECT_EQ(shape_of(path), "main:1/6(f:2/2(h:1/1))");
}

// The probes lie at a call and a jump, which the kernel makes.
TEST(CallTree, CallsThatTheKernelMakes) {
  Path path;
  path.begin(0x1000).signal(0x1010).begin(0x1100).signal(0x1110).begin(0x1120);
  path.ret(0x1130, 0x1015).jmp(0x1020, 0x1000);
  EXPECT_EQ(shape_of(path), "main:1/2(f:1/2)");
}

TEST(CallTree, AHandlerMayLeaveByLongjmp) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).signal(0x1110).begin(0x1200);
  path.go(BranchKind::ijmp, 0x1210, 0x1050).call(0x1060, 0x1300);
  EXPECT_EQ(shape_of(path), "main:1/2(f:1/1(g:1/1) h:1/0)");
}

TEST(CallTree, TheKernelsPartIsBelowTheSystemCallWhereItIsTraced) {
  Path path;
  path.begin(0x1000).go(BranchKind::syscall, 0x1010, 0x1200).call(0x1210, 0x1300);
  path.ret(0x1310, 0x1215).go(BranchKind::sysret, 0x1220, 0x1012).jmp(0x1020, 0x1000);
  path.go(BranchKind::irq, 0x1030, 0x1300, kAsync).go(BranchKind::iret, 0x1310, 0x1030);
  path.jmp(0x1040, 0x1000);
  EXPECT_EQ(shape_of(path), "main:1/4(g:1/2(h:1/1) h:1/1)");
}

// Only main and f were traced; what f calls calls main back.
TEST(CallTree, AFilterHidesWhatACallDoes) {
  Path path;
  path.begin(0x1000).go(BranchKind::call, 0x1010, 0, kTraceEnd);
  path.begin(0x1100).go(BranchKind::ret, 0x1120, 0, kTraceEnd);
  path.begin(0x1100).go(BranchKind::ret, 0x1120, 0, kTraceEnd);
  path.begin(0x1015).jmp(0x1020, 0x1000);
  EXPECT_EQ(shape_of(path), "main:1/2([not traced]:1/0(f:2/2))");
}

TEST(CallTree, AFilterThatGivesTheTargetHidesItAllTheSame) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).jmp(0x1110, 0x1200);
  path.go(BranchKind::ret, 0x1210, 0x9000, kTraceEnd);  // leaves f and g
  path.begin(0x1100).jmp(0x1130, 0x1120);
  EXPECT_EQ(shape_of(path), "main:1/1(f:2/2(g:1/1))");
}

TEST(CallTree, AnInterruptionAtTheStartOfAFunctionIsNoCallOfIt) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).signal(0x1100).begin(0x1100).ret(0x1120, 0x1015);
  EXPECT_EQ(shape_of(path), "main:1/1(f:1/2)");
}

TEST(CallTree, AHandlerMayInterruptItself) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1200).signal(0x1210).begin(0x1200).ret(0x1220, 0x2000);
  path.syscall(0x2007).begin(0x1210).jmp(0x1220, 0x1210).ret(0x1230, 0x1015);
  EXPECT_EQ(shape_of(path), "main:1/1(g:1/3(g:1/2))");
}

// The kernel resumes where nobody was interrupted: a handler changed the place to return to.
TEST(CallTree, TracingMayGoOnInAFunctionBelow) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).call(0x1110, 0x1200).syscall(0x1210);
  path.begin(0x1050).call(0x1060, 0x1300);
  EXPECT_EQ(shape_of(path), "main:1/2(f:1/1(g:1/1) h:1/0)");
}

TEST(CallTree, BehindAGapNothingIsResumed) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).go(BranchKind::lost, 0x1110, 0).begin(0x1120);
  path.jmp(0x1130, 0x1120);
  EXPECT_EQ(shape_of(path), "main:1/1(f:1/1) [unknown caller]:0/0(f:1/1)");
}

TEST(CallTree, AGapStartsAnewWithoutACaller) {
  Program program;
  CallTree tree(program, nanosecond_clock());
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).call(0x1110, 0x1200);
  path.go(BranchKind::lost, 0, 0).begin(0x1320, kResync).ret(0x1330, 0x1215).ret(0x1220, 0x1115);
  tree.branches({.pid = 1, .tid = 1}, path.branches());
  EXPECT_EQ(shape(tree), "main:1/1(f:1/1(g:1/0)) [unknown caller]:0/0(h:1/1 g:1/1 f:1/0)");
  ASSERT_EQ(tree.threads().size(), 1u);
  EXPECT_EQ(tree.threads()[0].gaps, 1u);
  EXPECT_EQ(tree.threads()[0].gap_time, 1u) << "between the second call and the loss";
  EXPECT_EQ(tree.threads()[0].restarts, 2u) << "returns to callers that were not seen";
}

TEST(CallTree, ThreadsHaveTreesOfTheirOwnAndAnExecStartsAnew) {
  Program program;
  CallTree tree(program, nanosecond_clock());
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100);
  tree.branches({.space = 0, .pid = 1, .tid = 1}, path.branches());
  tree.branches({.space = 0, .pid = 1, .tid = 2}, path.branches());
  tree.branches({.space = 1, .pid = 1, .tid = 1}, path.branches());
  EXPECT_EQ(shape(tree), "main:2/2(f:2/0) | main:1/1(f:1/0)");
  EXPECT_EQ(tree.threads()[0].gaps + tree.threads()[0].restarts, 0u);
}

// The process of space 0 executes another program between the third and the fourth branch of a
// Path.
class Executing final : public Program {
 public:
  bool replaced(std::uint32_t space, std::uint64_t after, std::uint64_t until) const override {
    return space == 0 && after < 103 && until >= 103;
  }
};

TEST(CallTree, AnExecLeavesAllFrames) {
  const Executing program;
  CallTree tree(program, nanosecond_clock());
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).syscall(0x1120);
  path.begin(0x1200).call(0x1210, 0x1300).ret(0x1310, 0x1215).syscall(0x1220);
  path.begin(0x1222).call(0x1230, 0x1300);  // behind another system call it goes on
  tree.branches({.space = 0, .pid = 1, .tid = 1}, path.branches());
  tree.branches({.space = 5, .pid = 2, .tid = 2}, path.branches());
  EXPECT_EQ(shape(tree).substr(0, shape(tree).find(" | ")), "main:1/1(f:1/1) g:1/3(h:2/1)");
  EXPECT_EQ(shape(tree).substr(shape(tree).find(" | ")), " | main:1/1(f:1/1(g:1/3(h:2/1)))");
}

}  // namespace
}  // namespace hodo::analyze
