#include "hodo/analyze/call_tree.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <utility>

#include "fixture.h"
#include "hodo/analyze/open_calls.h"
#include "hodo/flow/transfers.h"

namespace hodo::analyze {
namespace {

session::Clock nanosecond_clock() {
  return session::Clock(perfdata::TimeConversion{.shift = 0, .mult = 1, .zero = 0});
}

// "main:1/5(f:1/3) ..." : name:calls/own instructions(children in order of first entry).
std::string shape(const CallTree& tree) {
  std::vector<std::string> below(tree.nodes().size());
  std::string all;
  for (std::size_t i = tree.nodes().size(); i-- > 1;) {
    const CallNode& node = tree.nodes()[i];
    std::string inside = below[i].empty() ? "" : "(" + below[i] + ")";
    if (node.parent == CallNode::kNone) {
      all = below[i] + (all.empty() ? "" : " | " + all);
      continue;
    }
    std::string text = tree.functions()[node.function].name + ":" + std::to_string(node.calls) +
                       "/" + std::to_string(node.instructions) + inside;
    std::string& siblings = below[node.parent];
    siblings = text + (siblings.empty() ? "" : " " + siblings);
  }
  return all;
}

std::string shape_of(const Path& path) {
  Program program;
  CallTree tree(program, nanosecond_clock());
  tree.branches({.pid = 1, .tid = 1}, path.branches());
  return shape(tree);
}

std::string text_of(const SavedCalls& calls) {
  std::string out = calls.started ? "started" : "";
  const auto add = [&out](std::initializer_list<std::uint64_t> numbers) {
    for (const std::uint64_t number : numbers) out += " " + std::to_string(number);
    out += ";";
  };
  const auto add_clock = [&](const CallClock& clock) {
    add({clock.branches, clock.instructions, clock.time, clock.ticks});
  };
  add({calls.space, calls.last_time, calls.ended_at, calls.last_loss});
  add_clock(calls.clock);
  for (const SavedCall& call : calls.open) {
    add({call.site, call.entry, static_cast<std::uint64_t>(call.how), call.by_call ? 1u : 0u,
         call.made_branch, call.made_insn});
    add_clock(call.since);
  }
  for (const SetJump& jump : calls.set_jumps) add({jump.level, jump.site});
  return out;
}

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
// f, which goes to its cold part once more, and back.
Path recursion_by_a_part(BranchKind jump) {
  Path path;
  path.begin(0x1000).call(0x1010, 0x1100).go(jump, 0x1110, 0x1250).call(0x1260, 0x1100);
  path.go(jump, 0x1110, 0x1250).jmp(0x1270, 0x1120).ret(0x1130, 0x1265);
  path.jmp(0x1270, 0x1120).ret(0x1130, 0x1015).jmp(0x1020, 0x1000);
  return path;
}

TEST(CallTree, AJumpIntoAPartOfTheFunctionLeavesNoCalls) {
  EXPECT_EQ(shape_of(recursion_by_a_part(BranchKind::cond)),
            "main:1/2(f:1/2(g:1/2(f:1/2(g:1/1))))");
  EXPECT_EQ(shape_of(recursion_by_a_part(BranchKind::jmp)), "main:1/2(f:1/2(g:1/2(f:1/2(g:1/1))))");
}

TEST(CallTree, ATableOfCasesMayLeadToAPartOfTheFunction) {
  EXPECT_EQ(shape_of(recursion_by_a_part(BranchKind::ijmp)),
            "main:1/2(f:1/2(g:1/2(f:1/2(g:1/1))))");
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

TEST(CallTree, CodeWithoutSymbolsIsNamedByItsCallTarget) {
  Path path;
  path.begin(0x2000).call(0x2010, 0x2100).jmp(0x2110, 0x2150).ret(0x2160, 0x2015);
  EXPECT_EQ(shape_of(path), "[prog]:1/1([prog+0x2100]:1/2)");
}

// A destructor that the dynamic linker jumps to lies in a file that is on the stack.
TEST(CallTree, AJumpIntoCodeWithoutSymbolsIsATailCall) {
  Path path;
  path.begin(0x2000).call(0x2010, 0x3000).go(BranchKind::ijmp, 0x3010, 0x2500);
  path.ret(0x2510, 0x2015);
  EXPECT_EQ(shape_of(path), "[prog]:1/1(_dl_resolve:1/1([prog]:1/1))");
}

TEST(CallTree, LongjmpIntoCodeWithoutSymbolsGoesWhereSetjmpReturned) {
  Path path;
  path.begin(0x2000).call(0x2010, 0x1300).ret(0x1310, 0x2015);  // setjmp
  path.call(0x2020, 0x2100).call(0x2110, 0x3000).go(BranchKind::ijmp, 0x3010, 0x2015);
  path.call(0x2020, 0x1200);
  // Which of two functions of one file the address is in, nobody knows: it is the nearest.
  EXPECT_EQ(shape_of(path), "[prog]:1/2(h:1/1 [prog+0x2100]:1/2(_dl_resolve:1/1 g:1/0))");
}

TEST(CallTree, LongjmpGoesWhereACallOfASpanReturnedIntoCodeWithoutSymbols) {
  Program program;
  CallTree tree(program, nanosecond_clock());
  const session::Context who{.pid = 1, .tid = 1};
  Path path;
  path.begin(0x2000).call(0x2020, 0x2100).call(0x2110, 0x3000).go(BranchKind::ijmp, 0x3010, 0x2015);
  path.call(0x2020, 0x1200);
  const std::span all(path.branches());
  tree.branches(who, all.first(1));

  // setjmp
  const Branch call{
      .from = 0x2010, .to = 0x1300, .time = 100, .insns = 1, .kind = BranchKind::call};
  const flow::CallOp op = tree.call_judge(who)->op(call);
  ASSERT_EQ(op.kind, flow::CallOp::Kind::call);
  EXPECT_TRUE(op.noted);
  const auto book = std::make_shared<flow::TransferBook>();
  const std::array row = {flow::Transfers::Row{.time = 100, .count = 1}};
  const std::array list = {flow::Transfer{.what = flow::TransferBook::kSpan}};
  const std::array span = {
      flow::SummedSpan{.paths = 2, .noted = 1, .insns = 1, .first = book->add({&call, 1})}};
  const std::array paths = {
      flow::CalledPath{.callee = flow::CalledPath::kOpenBefore, .insns = 1},
      flow::CalledPath{.parent = 0, .callee = op.callee, .calls = 1, .insns = 1}};
  const std::array<std::uint64_t, 1> noted = {0x2015};
  tree.transfers(
      who,
      {.rows = row, .list = list, .book = book, .noted = noted, .summed = span, .paths = paths});

  tree.branches(who, all.subspan(1));
  EXPECT_EQ(shape(tree), "[prog]:1/2(h:1/1 [prog+0x2100]:1/2(_dl_resolve:1/1 g:1/0))");
}

TEST(CallTree, JumpsWithinCodeWithoutSymbolsNeedNotComeWhereItNeverHasAny) {
  Program program;
  CallTree tree(program, nanosecond_clock());
  const session::Context who{.pid = 1, .tid = 1};
  const auto jump = [](std::uint64_t from, std::uint64_t to) {
    return Branch{.from = from, .to = to, .time = 100, .kind = BranchKind::jmp};
  };
  const auto comes = [&](std::uint64_t line, std::uint64_t from, std::uint64_t to) {
    return !tree.may_leave_out(who, line, jump(from, to));
  };
  EXPECT_FALSE(comes(0x2000, 0x2010, 0x2800));
  EXPECT_TRUE(comes(0x1310, 0x2010, 0x2800));  // falls into it
  EXPECT_TRUE(comes(0x2000, 0x2010, 0x1300));
  EXPECT_TRUE(comes(0x2000, 0x2010, 0x4000));
  EXPECT_TRUE(comes(0x4000, 0x4010, 0x4020));  // nothing known is there
  const flow::CallJudge& judge = *tree.call_judge(who);
  EXPECT_EQ(judge.op(jump(0x2010, 0x2800)).kind, flow::CallOp::Kind::stays);
  EXPECT_EQ(judge.op(jump(0x2010, 0x1300)).kind, flow::CallOp::Kind::other);
  EXPECT_EQ(judge.op(jump(0x1310, 0x2010)).kind, flow::CallOp::Kind::other);

  program.names_more = true;
  EXPECT_TRUE(comes(0x2000, 0x2010, 0x2800));
  EXPECT_EQ(judge.op(jump(0x2010, 0x2800)).kind, flow::CallOp::Kind::other);
  Branch call = jump(0x2010, 0x1300);
  call.kind = BranchKind::call;
  EXPECT_EQ(judge.op(call).kind, flow::CallOp::Kind::other);
}

// Whatever order a function calls others in, each has its own sums.
TEST(CallTree, CalleesThatTakeTurnsAreKeptApart) {
  std::mt19937_64 random(11);
  std::array<std::uint64_t, 3> calls{};
  Path path;
  path.begin(0x1000);
  for (int i = 0; i < 2'000; ++i) {
    // By turns for a while, then in any order.
    const std::size_t which = i < 500 ? static_cast<std::size_t>(i) % 3 : random() % 3;
    ++calls[which];
    const std::uint64_t entry = 0x1100 + 0x100 * which;
    path.call(0x1010, entry);
    if (which == 0) path.call(0x1110, 0x1200).ret(0x1220, 0x1115);
    path.ret(entry + 0x20, 0x1015);
  }
  Program program;
  CallTree tree(program, nanosecond_clock());
  tree.branches({}, path.branches());
  std::map<std::pair<std::string, std::string>, std::uint64_t> found;  // with the caller
  for (const CallNode& node : tree.nodes().subspan(3)) {
    const CallNode& parent = tree.nodes()[node.parent];
    found[{tree.functions()[parent.function].name, tree.functions()[node.function].name}] +=
        node.calls;
  }
  const decltype(found) expected{{{"main", "f"}, calls[0]},
                                 {{"main", "g"}, calls[1]},
                                 {{"main", "h"}, calls[2]},
                                 {{"f", "g"}, calls[0]}};
  EXPECT_EQ(found, expected);
}

// Of branches that come without a time most are followed by a shorter way.
TEST(CallTree, BranchesWithoutTimesAreFollowedAsThoseWith) {
  std::mt19937_64 random(13);
  const auto address = [&random] {
    constexpr std::array<std::uint64_t, 4> kPlaces = {0, 0x10, 0x15, 0x20};
    return 0x1000 + 0x100 * (random() % 12) + kPlaces[random() % kPlaces.size()];
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<Branch> timed{{.to = 0x1000, .time = 1, .kind = BranchKind::begin}};
    for (std::uint64_t i = 0; i < 60; ++i) {
      using enum BranchKind;
      constexpr std::array<BranchKind, 8> kKinds = {call, call, icall, ret, ret, jmp, ijmp, end};
      timed.push_back({.from = address(),
                       .to = random() % 30 == 0 ? 0 : address(),
                       .time = i + 2,
                       .insns = static_cast<std::uint32_t>(random() % 4),
                       .kind = kKinds[random() % kKinds.size()],
                       .flags = static_cast<std::uint8_t>(random() % 20 == 0 ? kTraceEnd : 0)});
    }
    std::vector<Branch> timeless = timed;
    for (Branch& branch : timeless) branch.time = 0;
    Program program;
    CallTree one(program, nanosecond_clock());
    CallTree other(program, nanosecond_clock());
    one.branches({}, timed);
    other.branches({}, timeless);
    ASSERT_EQ(shape(one), shape(other)) << "round " << round;
    EXPECT_EQ(one.threads()[0].restarts, other.threads()[0].restarts);
  }
}

// A path of which jumps within functions are left out, and the rest comes as transfers.
class Transferred {
 public:
  // `within` tells which may be left out; some are.
  Transferred(std::span<const Branch> path, std::mt19937_64& random,
              bool (*within)(const Branch& before, const Branch& jump)) {
    std::uint64_t time = 0;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const Branch& branch = path[i];
      const bool first = std::exchange(time, branch.time) != branch.time || i == 0;
      if (!first && random() % 4 != 0 && within(path[i - 1], branch)) {
        leave_out(branch);
      } else if (!first && random() % 8 != 0) {
        tell(branch);
      } else {
        end_row(branch.time);
        walked_.push_back(branch);
      }
    }
    end_row(time);
  }
  flow::Transfers batch() const {
    return {.walked = walked_, .rows = rows_, .list = list_, .book = book_};
  }

 private:
  void leave_out(const Branch& branch) {
    ++left_.branches;
    left_.insns += branch.insns;
  }
  void tell(const Branch& branch) {
    const bool direct = branch.kind != BranchKind::ret && branch.kind != BranchKind::icall &&
                        branch.kind != BranchKind::ijmp;
    Branch written = branch;
    written.to = direct ? branch.to : 0;
    const std::uint32_t since = branch.insns != 0 ? 1 : 0;
    written.insns -= since;
    left_.what = book_->add({&written, 1});
    left_.since = since;
    left_.insns += since;
    left_.to = direct ? 0 : branch.to;
    list_.push_back(std::exchange(left_, {}));
    time_ = branch.time;
  }
  void end_row(std::uint64_t time) {
    if (left_.branches != 0) list_.push_back(std::exchange(left_, {}));
    if (list_.size() != begun_) {
      rows_.push_back({.time = time_ != 0 ? time_ : time,
                       .begin = static_cast<std::uint32_t>(walked_.size()),
                       .count = static_cast<std::uint32_t>(list_.size() - begun_)});
    }
    begun_ = list_.size();
    time_ = 0;
  }

  std::shared_ptr<flow::TransferBook> book_ = std::make_shared<flow::TransferBook>();
  std::vector<Branch> walked_;
  std::vector<flow::Transfers::Row> rows_;
  std::vector<flow::Transfer> list_;
  flow::Transfer left_;
  std::size_t begun_ = 0;
  std::uint64_t time_ = 0;
};

TEST(CallTree, TransfersAreFollowedAsTheirBranches) {
  std::mt19937_64 random(17);
  const auto address = [&random] {
    constexpr std::array<std::uint64_t, 4> kPlaces = {0, 0x10, 0x15, 0x20};
    return 0x1000 + 0x100 * (random() % 12) + kPlaces[random() % kPlaces.size()];
  };
  const auto within = [](const Branch& before, const Branch& jump) {
    const auto function = [](std::uint64_t at) { return at >> 8; };
    const bool known = jump.from < 0x1400 && function(before.to) == function(jump.from);
    return known && function(jump.from) == function(jump.to) && jump.kind == BranchKind::jmp &&
           jump.flags == 0 && before.flags == 0;
  };
  for (int round = 0; round < 1500; ++round) {
    std::vector<Branch> path{{.to = 0x1000, .time = 1, .kind = BranchKind::begin}};
    for (int i = 0; i < 80; ++i) {
      using enum BranchKind;
      constexpr std::array<BranchKind, 8> kKinds = {call, call, icall, ret, ret, jmp, jmp, ijmp};
      const Branch& before = path.back();
      const std::uint64_t time = before.time + (random() % 10 == 0 ? 1 : 0);
      const std::uint64_t function = before.to & ~std::uint64_t{0xff};
      const std::uint64_t from = function + 0x10 * (random() % 3);
      // Much stays in a function, and returns go to where the last calls were.
      const std::uint64_t to = random() % 2 == 0 ? function + 0x15 : address();
      if (random() % 20 == 0) {
        path.push_back({.from = from, .time = time, .kind = end, .flags = kTraceEnd});
        path.push_back({.to = to, .time = time, .kind = begin});
        continue;
      }
      path.push_back({.from = from,
                      .to = to,
                      .time = time,
                      .insns = static_cast<std::uint32_t>(random() % 4),
                      .kind = kKinds[random() % kKinds.size()]});
    }
    const Transferred transferred(path, random, within);
    Program program;
    CallTree one(program, nanosecond_clock());
    CallTree other(program, nanosecond_clock());
    one.branches({}, path);
    other.transfers({}, transferred.batch());
    ASSERT_EQ(shape(one), shape(other)) << "round " << round;
    EXPECT_EQ(one.threads()[0].restarts, other.threads()[0].restarts);
    Following following(program, nanosecond_clock());
    Following apart(program, nanosecond_clock());  // return sites are its own
    OpenCalls by_branches(following, nullptr);
    OpenCalls by_transfers(apart, nullptr);
    by_branches.branches(0, path);
    by_transfers.transfers(0, transferred.batch());
    ASSERT_EQ(text_of(by_branches.save()), text_of(by_transfers.save())) << "round " << round;
  }
}

// Whatever the branches are: nothing crashes, and every instruction is in one node.
TEST(CallTree, AnyBranchesAreCountedOnce) {
  std::mt19937_64 random(7);
  Program program;
  CallTree tree(program, nanosecond_clock(), 200);
  std::uint64_t instructions = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto address = [&] { return random() % 8 == 0 ? 0 : 0xf00 + random() % 0x2400; };
    Branch branch{.from = address(),
                  .to = address(),
                  .time = random() % 1000,
                  .insns = static_cast<std::uint32_t>(random() % 10),
                  .kind = static_cast<BranchKind>(random() % kBranchKinds),
                  .flags = static_cast<std::uint8_t>(random() % 128 & ~kNotTaken)};
    instructions += branch.insns;
    session::Context who{.space = static_cast<std::uint32_t>(random() % 2),
                         .tid = static_cast<std::int32_t>(random() % 3)};
    tree.branches(who, std::span(&branch, 1));
  }
  std::uint64_t sum = 0;
  for (const CallNode& node : tree.nodes()) sum += node.instructions;
  EXPECT_EQ(sum, instructions);
  EXPECT_LE(tree.nodes().size(), 201u);
}

}  // namespace
}  // namespace hodo::analyze
