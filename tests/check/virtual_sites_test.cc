// call.function: one call of virtual functions of classes that are no kin of each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "edge_rules.h"
#include "fake_session.h"
#include "family_elf.h"
#include "small_program.h"

namespace hodo::check {
namespace {

using text::Bytes;
using text::Family;

constexpr std::uint64_t kF = Family::function(1);
constexpr std::uint64_t kG = Family::function(2);
constexpr std::uint64_t kCode = Family::function(10);

const std::vector<text::FamilyMember> kStrangers = {{"1A", {}, {kF}}, {"1B", {}, {kG}}};
const Bytes kCall = {0x48, 0x8b, 0x07,  // mov rax, [rdi]
                     0xff, 0x10};       // call [rax]

// What the rule says when the call of two bytes that ends `code` leads to kF twice, then to kG;
// empty: nothing. `text` lies in the file, too.
std::string says(const Bytes& code, const std::vector<text::FamilyMember>& members = kStrangers,
                 std::string_view text = "") {
  Family family(members);
  const auto behind = std::ranges::copy(code, family.elf.text.begin() + kCode - text::kText).out;
  std::ranges::copy(text, behind + 1);
  family.elf.functions.push_back({kCode, kCode + code.size() + 1});
  const std::string path = path_of(family.elf);
  FakeSession session;
  session.map(kBase, {.path = "/bin/prog", .location = path});
  session.run_code(kBase + text::kText, family.elf.text);
  Locator locator(session, nullptr);
  const auto rule = make_call_function();
  std::string out;
  for (const std::uint64_t to : {kF, kF, kG}) {
    const Branch branch = {
        .from = kBase + kCode + code.size() - 2, .to = kBase + to, .kind = BranchKind::icall};
    const auto verdict = rule->judge(locator.locate(1, branch), locator);
    if (verdict) out += verdict->reason;
  }
  return out;
}

TEST(VirtualSites, OneCallIsForOneFamilyOfClasses) {
  EXPECT_EQ(says(kCall),
            "calls a virtual function of B where one of A was called before; no class is a base of "
            "both");
  EXPECT_EQ(says(kCall, {{"1A", {}, {kF}}, {"1B", {0}, {kG}}}), "");
}

// Compilers make one of equal ends of what is for objects of several classes.
TEST(VirtualSites, WhatTheObjectIsHasToBeKnown) {
  EXPECT_NE(says({0x48, 0x8b, 0x3b,  // mov rdi, [rbx]
                  0x48, 0x8b, 0x07,  // mov rax, [rdi]
                  0xff, 0x10}),
            "");                                 // call [rax]
  EXPECT_NE(says({0xe8, 0x8b, 0xff, 0xff, 0xff,  // call the first function
                  0x48, 0x89, 0xc7,              // mov rdi, rax
                  0x48, 0x8b, 0x07, 0xff, 0x10}),
            "");
  EXPECT_EQ(says({0x48, 0x8b, 0x03, 0xff, 0x10}), "") << "mov rax, [rbx], which is no argument";
  EXPECT_EQ(says({0x48, 0x0f, 0x44, 0xfe,  // cmove rdi, rsi
                  0x48, 0x8b, 0x07, 0xff, 0x10}),
            "");
  EXPECT_EQ(says({0x74, 0x00,  // je to the next instruction
                  0x48, 0x8b, 0x07, 0xff, 0x10}),
            "");
}

TEST(VirtualSites, WhereALinkerMayHaveJoinedFunctionsNothingIsSaid) {
  EXPECT_EQ(says(kCall, kStrangers, "Linker: LLD 19.1"), "");
  EXPECT_EQ(
      says(kCall, {{"1A", {}, {kF, Family::function(3)}}, {"1B", {}, {kG, Family::function(3)}}}),
      "");
}

}  // namespace
}  // namespace hodo::check
