// The page in one file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hodo/web/page.h"

namespace hodo::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Standalone, NamesMayNotEndTheirElement) {
  const std::string out = standalone({.html = "", .style = "p{}", .script = "go()"},
                                     R"({"answers":{"x":"</script><script>alert(1)</script>"}})");
  EXPECT_THAT(out, Not(HasSubstr("</script><script>alert")));
  EXPECT_THAT(out, HasSubstr(R"("\u003c/script>\u003cscript>alert(1))"));
}

// The sums are those of `printf 'go()' | openssl sha256 -binary | base64`.
TEST(Standalone, RunsNothingButThePage) {
  const std::string out = standalone({.html = "", .style = "p{}", .script = "go()"}, "{}");
  EXPECT_THAT(
      out,
      HasSubstr(
          "script-src 'sha256-5KYv+PUboo5h+0+YAtGRPbwv5d/QxzHslP4YGnUaxRw='; style-src 'sha256-gG2yISYereRMiG2lMXrbiUgi0Ubw9p7QCeWcroOvy9Y='\""));
  EXPECT_THAT(out, HasSubstr("default-src 'none'"));
  EXPECT_THAT(out, Not(HasSubstr("unsafe")));
}

TEST(Page, IsWhole) {
  const auto built = page();
  if (!built) GTEST_SKIP() << built.error().message;
  EXPECT_THAT(built->html, HasSubstr("page.js"));
  EXPECT_GT(built->script.size(), 10'000U);
  EXPECT_GT(built->style.size(), 1'000U);
  EXPECT_LT(built->html.size() + built->style.size() + built->script.size(), 150'000U);
  EXPECT_EQ(built->script.find("</script"), built->script.npos);
}

}  // namespace
}  // namespace hodo::web
