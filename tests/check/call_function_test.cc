// call.function: which whole functions a pointer may lead to.
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>

#include "classes_elf.h"
#include "edge_rules.h"
#include "fake_session.h"
#include "small_program.h"

namespace hodo::check {
namespace {

using text::kIsInTable;
using text::kIsNamed;
using text::kIsUntaken;
using text::kIsVirtual;  // in the second slot

class CallFunctionTest : public testing::Test {
 protected:
  // What the rule says of a call, or jump, by the last instruction of `code`; empty: nothing.
  std::string says(const text::Bytes& code, std::size_t length, std::uint64_t to,
                   BranchKind kind = BranchKind::icall) {
    text::Classes classes;
    constexpr std::uint64_t kCode = 0x1040;
    text::append(classes.elf.text, code);
    classes.elf.text.push_back(0xc3);
    classes.elf.functions.push_back({kCode, kCode + code.size() + 1});
    const text::ElfBuilder elf = classes.build();
    FakeSession session;
    session.map(kBase, {.path = "/bin/prog", .location = paths_.emplace_back(path_of(elf))});
    session.run_code(kBase + text::kText, elf.text);
    Locator locator(session, nullptr);
    const std::uint64_t from = kBase + kCode + code.size() - length;
    const Edge edge = locator.locate(1, {.from = from, .to = kBase + to, .kind = kind});
    const auto verdict = make_call_function()->judge(edge, locator);
    if (!verdict) return {};
    EXPECT_EQ(verdict->grade, Grade::unexplained);
    return verdict->reason;
  }

 private:
  std::deque<std::string> paths_;
};

const text::Bytes kCallRax = {0xff, 0xd0};
const text::Bytes kBySecondSlot = {0x48, 0x8b, 0x07,   // mov rax, [rdi]
                                   0xff, 0x50, 0x08};  // call [rax+8]
const text::Bytes kByThirdSlot = {0x48, 0x8b, 0x07,    // mov rax, [rdi]
                                  0xff, 0x50, 0x10};   // call [rax+16]

TEST_F(CallFunctionTest, NoPointerLeadsToAFunctionThatNothingHolds) {
  const char* const kReason = "leads to a function whose address nothing in its file holds";
  EXPECT_EQ(says(kCallRax, 2, kIsUntaken), kReason);
  EXPECT_EQ(says({0xff, 0xe0}, 2, kIsUntaken, BranchKind::ijmp), kReason);
  EXPECT_EQ(says(kCallRax, 2, kIsNamed), "");
  EXPECT_EQ(says(kCallRax, 2, kIsInTable), "");
  EXPECT_EQ(says({0xe8, 0xe3, 0xff, 0xff, 0xff}, 5, kIsUntaken, BranchKind::call), "");
}

TEST_F(CallFunctionTest, AJumpWithAnotherStackIsTheReturnModels) {
  const text::Bytes code = {0x48, 0x8b, 0x67, 0x08,  // mov rsp, [rdi+8]
                            0xff, 0xe0};             // jmp rax
  EXPECT_EQ(says(code, 2, kIsUntaken, BranchKind::ijmp), "");
}

TEST_F(CallFunctionTest, AVirtualFunctionIsTakenFromItsSlot) {
  EXPECT_EQ(says(kBySecondSlot, 3, kIsVirtual), "");
  EXPECT_EQ(says(kByThirdSlot, 3, kIsVirtual),
            "takes a virtual function from offset 0x10 of a table; vtables have it at 0x8");
  EXPECT_EQ(says(kByThirdSlot, 3, kIsInTable), "");
}

TEST_F(CallFunctionTest, TheSlotMayBeReachedInSteps) {
  text::Bytes code = {0x48, 0x8b, 0x07,        // mov rax, [rdi]
                      0x48, 0x83, 0xc0, 0x08,  // add rax, 8
                      0x48, 0x89, 0xc1,        // mov rcx, rax
                      0x48, 0x8b, 0x11,        // mov rdx, [rcx]
                      0xff, 0xd2};             // call rdx
  EXPECT_EQ(says(code, 2, kIsVirtual), "");
  code[6] = 0;
  EXPECT_NE(says(code, 2, kIsVirtual), "");
}

TEST_F(CallFunctionTest, WhereTheSlotIsNotKnownNothingIsSaid) {
  EXPECT_EQ(says(kCallRax, 2, kIsVirtual), "") << "rax comes from elsewhere";
  EXPECT_EQ(says({0xff, 0x57, 0x10}, 3, kIsVirtual), "") << "rdi may be in the midst of a vtable";
  EXPECT_EQ(says({0x48, 0x8b, 0x07, 0xff, 0x14, 0xd0}, 3, kIsVirtual), "") << "call [rax+rdx*8]";
  EXPECT_EQ(says({0x48, 0x8b, 0x04, 0x24, 0xff, 0x50, 0x10}, 3, kIsVirtual), "")
      << "a variable, mov rax, [rsp], may point there, too";
  // mov rax, [rip+...], a slot of the GOT that holds where the vtable begins.
  EXPECT_EQ(says({0x48, 0x8b, 0x05, 0, 0x10, 0, 0, 0xff, 0x50, 0x18}, 3, kIsVirtual), "");
}

TEST_F(CallFunctionTest, AFixedPlaceIsASlotOrNot) {
  // call [2018], the slot, and call [2030].
  EXPECT_EQ(says({0xff, 0x15, 0xd2, 0x0f, 0x00, 0x00}, 6, kIsVirtual), "");
  EXPECT_EQ(says({0xff, 0x15, 0xea, 0x0f, 0x00, 0x00}, 6, kIsVirtual),
            "leads to a virtual function by a pointer that is in no vtable");
}

}  // namespace
}  // namespace hodo::check
