// The page in one file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nettle/base64.h>
#include <zlib.h>

#include "hodo/web/page.h"

namespace hodo::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Page kPage{.html = "", .style = "p{}", .script = "go()"};

// What a file carries, unpacked as the page does it.
std::string carried(const std::string& file) {
  constexpr std::string_view kBegin = "id=\"answers\">";
  const std::size_t begin = file.find(kBegin) + kBegin.size();
  const std::string packed = file.substr(begin, file.find("</script>", begin) - begin);
  base64_decode_ctx context{};
  base64_decode_init(&context);
  std::vector<std::uint8_t> bytes(BASE64_DECODE_LENGTH(packed.size()));
  std::size_t size = bytes.size();
  EXPECT_EQ(base64_decode_update(&context, &size, bytes.data(), packed.size(), packed.data()), 1);
  std::string out(std::size_t{1} << 20, '\0');
  uLongf length = out.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(out.data()), &length, bytes.data(), size), Z_OK);
  out.resize(length);
  return out;
}

TEST(Standalone, NamesMayNotEndTheirElement) {
  const std::string answers = R"({"answers":{"x":"</script><script>alert(1)</script>"}})";
  const auto out = standalone(kPage, answers);
  ASSERT_TRUE(out);
  EXPECT_THAT(*out, Not(HasSubstr("alert(1)")));
  EXPECT_EQ(carried(*out), answers);
}

TEST(Standalone, IsPacked) {
  const auto out = standalone(kPage, std::string(100'000, 'x'));
  ASSERT_TRUE(out);
  EXPECT_LT(out->size(), 2'000U);
}

// The sums are those of `printf 'go()' | openssl sha256 -binary | base64`.
TEST(Standalone, RunsNothingButThePage) {
  const auto file = standalone(kPage, "{}");
  ASSERT_TRUE(file);
  const std::string& out = *file;
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
