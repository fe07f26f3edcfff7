// The list of rules, and that each is documented.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "hodo/check/finding.h"

namespace hodo::check {
namespace {

TEST(Rules, AreFoundByTheirNames) {
  std::set<std::string_view> names;
  for (const Rule& rule : rules()) {
    EXPECT_EQ(find_rule(rule.name), &rule);
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
  }
  EXPECT_EQ(find_rule("return"), nullptr);
}

TEST(Rules, HaveAPageEach) {
  for (const Rule& rule : rules()) {
    const auto page =
        std::filesystem::path(HODO_SOURCE) / "docs/rules" / (std::string(rule.name) + ".md");
    EXPECT_TRUE(std::filesystem::exists(page)) << page;
  }
}

}  // namespace
}  // namespace hodo::check
