// hodo explain.
#include <filesystem>

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
  // Names of rules have a point, those of other pages have none.
  std::size_t pages = 0;
  for (const auto& page : std::filesystem::directory_iterator(HODO_SOURCE "/docs/rules")) {
    pages += page.path().stem().string().find('.') == std::string::npos ? 0 : 1;
  }
  EXPECT_EQ(rules, pages);
}

TEST_F(Command, ExplainNamesARuleThatDoesNotExist) {
  const Ran ran = hodo("explain return.targets");
  EXPECT_EQ(ran.status, 2);
  EXPECT_NE(ran.err.find("return.targets"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace hodo::cli
