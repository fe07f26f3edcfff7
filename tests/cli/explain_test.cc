// hodo explain.
#include "hodo/check/finding.h"
#include "run_fixture.h"

namespace hodo::cli {
namespace {

TEST_F(Command, ExplainPrintsThePageOfEachRuleThatItLists) {
  const Ran list = hodo("explain");
  EXPECT_EQ(list.status, 0);
  std::istringstream lines(list.out);
  std::size_t rules = 0;
  for (std::string line; std::getline(lines, line); ++rules) {
    const std::string rule = line.substr(0, line.find(':'));
    const Ran page = hodo("explain " + rule);
    EXPECT_EQ(page.status, 0) << rule;
    EXPECT_TRUE(page.out.starts_with("# " + rule + "\n")) << page.out.substr(0, 80);
    EXPECT_NE(page.out.find("**What it cannot see.**"), std::string::npos) << rule;
  }
  EXPECT_EQ(rules, check::rules().size());
}

TEST_F(Command, ExplainNamesARuleThatDoesNotExist) {
  const Ran ran = hodo("explain return.targets");
  EXPECT_EQ(ran.status, 2);
  EXPECT_NE(ran.err.find("return.targets"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace hodo::cli
