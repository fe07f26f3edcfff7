// Lines that suppress findings: what fits, and what is refused.
#include "hodo/check/suppressions.h"

#include <gtest/gtest.h>

#include <string>

namespace hodo::check {
namespace {

// Two functions of one file.
class TwoFunctions final : public session::Names {
 public:
  session::Place place(std::uint32_t, std::uint64_t address, std::uint64_t) const override {
    if (address == 3) return {.offset = 0x30, .object = "/opt/a/prog"};
    return {.symbol = address == 1 ? "main" : "operator|(int, a<=>b)", .object = "/opt/a/prog"};
  }
  session::Object object(std::uint32_t, std::uint64_t, std::uint64_t) const override { return {}; }
  std::uint32_t generation(std::uint32_t, std::uint64_t) const override { return 0; }
};

Finding found(std::uint64_t from, std::uint64_t to) {
  return {.rule = find_rule("call.target"), .branch = {.from = from, .to = to}};
}

bool fits(const std::string& line, const Finding& finding) {
  const auto lines = Suppressions::parse(line + " | why");
  EXPECT_TRUE(lines) << line;
  return lines && lines->find(finding, TwoFunctions()) != nullptr;
}

TEST(Suppressions, FitByRuleAndBothEnds) {
  EXPECT_TRUE(fits("call.target | prog:main => prog:*", found(1, 2)));
  EXPECT_TRUE(fits("call.target|*=>*", found(1, 2)));
  EXPECT_TRUE(fits("call.target | p*g:m**n => *(int*)*", found(1, 2)));
  EXPECT_FALSE(fits("call.target | prog:main => *x", found(1, 2)));
  EXPECT_FALSE(fits("call.sensitive | prog:main => prog:*", found(1, 2)));
  EXPECT_FALSE(fits("call.target | prog:mai => prog:*", found(1, 2)));
  EXPECT_FALSE(fits("call.target | prog:main => prog:main", found(1, 2)));
  EXPECT_TRUE(fits("call.target | - => prog:main", found(0, 1)));
}

TEST(Suppressions, TheLineOfAFindingFitsItWhateverItsNamesHold) {
  for (const auto& finding : {found(1, 2), found(2, 1), found(0, 2), found(3, 1)}) {
    EXPECT_TRUE(fits(suppression_of(finding, TwoFunctions()), finding));
  }
  EXPECT_EQ(suppression_of(found(3, 1), TwoFunctions()), "call.target | prog:+0x30 => prog:main");
  EXPECT_FALSE(fits(suppression_of(found(3, 1), TwoFunctions()), found(1, 1)));
}

TEST(Suppressions, CommentsAndEmptyLinesAreNone) {
  const auto lines = Suppressions::parse("# x\n\n  \r\ncall.target | a => b | why | not\n");
  ASSERT_TRUE(lines);
  ASSERT_EQ(lines->all().size(), 1);
  EXPECT_EQ(lines->all()[0].reason, "why | not");
}

TEST(Suppressions, RefuseWhatIsNotWhole) {
  for (const char* line : {"call.target", "call.target | a => b", "call.target | a => b | ",
                           "call.target | a | b", "call.target | => b | c", "x | a => b | c"}) {
    const auto lines = Suppressions::parse("\n" + std::string(line) + "\n");
    ASSERT_FALSE(lines) << line;
    EXPECT_NE(lines.error().message.find("line 2"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace hodo::check
