#include "kernel_rules.h"

#include <gtest/gtest.h>

#include "hodo/kernelcheck/kernel_checker.h"

namespace hodo::kernelcheck {
namespace {

using session::Place;

const Place kIterateDir{.symbol = "iterate_dir", .offset = 0x175, .object = "[kernel]"};
const Place kReaddirStart{.symbol = "dcache_readdir", .offset = 0, .object = "[kernel]"};
const Place kRetpoline{.symbol = "__x86_indirect_thunk_rax", .offset = 0x10, .object = "[kernel]"};
const Place kStaticCall{.symbol = "__SCT__tp_func_sys_enter", .offset = 0, .object = "[kernel]"};
const Place kTrampoline{.symbol = "", .offset = 0, .object = "[kernel]"};
const Place kHook{.symbol = "hook", .offset = 0, .object = "[module]"};
const Place kInHook{.symbol = "hook", .offset = 8, .object = "[module]"};

std::string rule_of(BranchKind kind, const Place& from, const Place& to,
                    const std::string& slot = "") {
  const Branch branch{.from = ~0ULL, .to = ~0ULL, .kind = kind};
  const auto verdict = judge_kernel_branch(branch, from, to, slot);
  return verdict ? std::string(kernel_rule(verdict->rule).name) : "";
}

TEST(KernelRules, LetNoFunctionOfTheKernelBranchStraightIntoAModule) {
  for (const BranchKind kind : {BranchKind::jmp, BranchKind::call, BranchKind::cond}) {
    EXPECT_EQ(rule_of(kind, kReaddirStart, kHook), "kernel.jump");
    EXPECT_EQ(rule_of(kind, kReaddirStart, kInHook), "kernel.jump");
  }
}

TEST(KernelRules, LetModulesAndStaticCallsDoSo) {
  EXPECT_EQ(rule_of(BranchKind::call, kInHook, kHook), "");
  EXPECT_EQ(rule_of(BranchKind::jmp, kStaticCall, kHook), "");
  EXPECT_EQ(rule_of(BranchKind::jmp, kReaddirStart, kIterateDir), "");
}

TEST(KernelRules, LetNoFunctionOfTheKernelBranchStraightToHiddenCode) {
  EXPECT_EQ(rule_of(BranchKind::jmp, kReaddirStart, kTrampoline), "kernel.jump");
  EXPECT_EQ(rule_of(BranchKind::call, kIterateDir, kTrampoline), "kernel.jump");
  EXPECT_EQ(rule_of(BranchKind::call, kReaddirStart, kTrampoline), "");  // for tracing
  EXPECT_EQ(rule_of(BranchKind::jmp, kStaticCall, kTrampoline), "");
  EXPECT_EQ(rule_of(BranchKind::icall, kIterateDir, kTrampoline), "");
  const Place dispatcher{.symbol = "bpf_dispatcher_xdp_func", .offset = 9, .object = "[kernel]"};
  EXPECT_EQ(rule_of(BranchKind::jmp, dispatcher, kTrampoline), "");
}

TEST(KernelRules, LetPointersLeadIntoModulesUnlessTheyAreReadOnly) {
  EXPECT_EQ(rule_of(BranchKind::icall, kIterateDir, kHook), "");
  EXPECT_EQ(rule_of(BranchKind::ret, kRetpoline, kHook), "");
  EXPECT_EQ(rule_of(BranchKind::icall, kIterateDir, kHook, "table+0x8"), "kernel.pointer");
  EXPECT_EQ(rule_of(BranchKind::ijmp, kIterateDir, kHook, "table+0x8"), "kernel.pointer");
  EXPECT_EQ(rule_of(BranchKind::ret, kRetpoline, kHook, "table+0x8"), "kernel.pointer");
  EXPECT_EQ(rule_of(BranchKind::icall, kInHook, kHook, "table+0x8"), "");
}

TEST(KernelRules, LetNoReturnBeginAModulesFunction) {
  EXPECT_EQ(rule_of(BranchKind::ret, kTrampoline, kHook), "kernel.detour");
  EXPECT_EQ(rule_of(BranchKind::ret, kTrampoline, kInHook), "");
  EXPECT_EQ(rule_of(BranchKind::ret, kTrampoline, kReaddirStart), "");
}

TEST(KernelRules, LetEventsGoAnywhere) {
  EXPECT_EQ(rule_of(BranchKind::iret, kReaddirStart, kHook), "");
  EXPECT_EQ(rule_of(BranchKind::irq, kReaddirStart, kHook), "");
}

TEST(KernelRules, KnowTheCallForTracing) {
  const Branch call{.kind = BranchKind::call};
  Place behind_endbr = kReaddirStart;
  behind_endbr.offset = 4;
  EXPECT_TRUE(is_traced_entry(call, kReaddirStart, kTrampoline));
  EXPECT_TRUE(is_traced_entry(call, behind_endbr, kTrampoline));
  EXPECT_FALSE(is_traced_entry(call, kIterateDir, kTrampoline));
  EXPECT_FALSE(is_traced_entry(call, kReaddirStart, kHook));
}

}  // namespace
}  // namespace hodo::kernelcheck
