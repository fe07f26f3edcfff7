// Who gets what.
#include "gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hodo::web {
namespace {

const std::function<bool()> kNobodyGone = [] { return false; };

using ::testing::HasSubstr;

const std::string kKey = "0123456789abcdef0123456789abcdef";
// A Request is views: what they see has to last.
const std::string kPage = "/" + kKey + "/";
const std::string kScript = kPage + "page.js";
const std::string kStyle = kPage + "page.css";
const std::string kQuestion = kPage + "rpc";

Site site() {
  return {.page = {.html = "<p>page", .style = "p{}", .script = "go()"},
          .answer = [](std::string_view message, const auto&) -> std::optional<std::string> {
            if (message == "quiet") return std::nullopt;
            return "answer to " + std::string(message);
          },
          .key = kKey,
          .port = 4242};
}

Request get(std::string_view target) {
  return {.method = "GET", .target = target, .host = "127.0.0.1:4242"};
}

Request question() {
  return {.method = "POST",
          .target = kQuestion,
          .host = "127.0.0.1:4242",
          .origin = "http://127.0.0.1:4242",
          .site = "same-origin",
          .key = kKey,
          .type = "application/json",
          .length = 2,
          .has_length = true};
}

TEST(Gate, GivesThePageToWhoHasTheKey) {
  EXPECT_EQ(admit(site(), get(kPage)).body, "<p>page");
  EXPECT_EQ(admit(site(), get(kScript)).body, "go()");
  EXPECT_EQ(admit(site(), get(kStyle)).body, "p{}");
  EXPECT_EQ(admit(site(), question()).status, 0);
  EXPECT_EQ(reply(site(), "{}", kNobodyGone).body, "answer to {}");
  EXPECT_EQ(reply(site(), "quiet", kNobodyGone).status, 204);
}

TEST(Gate, HasNothingForOthers) {
  for (const std::string& target :
       {std::string("/"), std::string("/page.js"), std::string("/rpc"), "/" + kKey,
        "/" + kKey.substr(1) + "/", "/" + kKey + "0/", "/" + kKey.substr(0, 31) + "0/",
        "//" + kKey + "/", "/" + kKey + "/../etc/passwd", "/" + kKey + "/..%2fetc/passwd",
        "/" + kKey + "//etc/passwd", "/" + kKey + "/page.js/", "/" + kKey + "/?x",
        "/x/../" + kKey + "/"}) {
    EXPECT_EQ(admit(site(), get(target)).status, 404) << target;
    EXPECT_EQ(admit(site(), get(target)).body, "404 Not Found\n") << target;
  }
}

// A page elsewhere whose name leads to 127.0.0.1 has the browser send its own name.
TEST(Gate, RefusesOtherNamesOfThisMachine) {
  for (const char* host : {"", "evil.example", "evil.example:4242", "127.0.0.1", "127.0.0.1:4243",
                           "127.0.0.1:4242.evil.example", "[::1]:4242", "127.0.0.1:4242 "}) {
    Request request = get(kPage);
    request.host = host;
    EXPECT_EQ(admit(site(), request).status, 403) << host;
  }
  Request request = get(kPage);
  request.host = "localhost:4242";
  EXPECT_EQ(admit(site(), request).status, 200);
}

TEST(Gate, RefusesOtherPages) {
  for (const char* origin : {"http://evil.example", "null", "https://127.0.0.1:4242",
                             "http://127.0.0.1:4243", "http://127.0.0.1:4242.evil.example"}) {
    Request request = question();
    request.origin = origin;
    EXPECT_EQ(admit(site(), request).status, 403) << origin;
  }
  for (const char* from : {"cross-site", "same-site"}) {
    Request request = question();
    request.site = from;
    EXPECT_EQ(admit(site(), request).status, 403) << from;
    Request script = get(kScript);
    script.site = from;
    EXPECT_EQ(admit(site(), script).status, 403) << from;
  }
}

TEST(Gate, TakesNoQuestionWithoutTheKeyInItsHeader) {
  Request request = question();
  request.key = "";
  EXPECT_EQ(admit(site(), request).status, 403);
  const std::string wrong(32, '0');
  request.key = wrong;
  EXPECT_EQ(admit(site(), request).status, 403);
}

TEST(Gate, TakesNoQuestionInAnotherForm) {
  Request request = question();
  request.type = "text/plain";  // what a form of a foreign page could send
  EXPECT_EQ(admit(site(), request).status, 415);
  request = question();
  request.has_length = false;
  EXPECT_EQ(admit(site(), request).status, 400);
  for (const char* method : {"GET", "PUT", "OPTIONS", "HEAD", "TRACE", "post"}) {
    request = question();
    request.method = method;
    EXPECT_EQ(admit(site(), request).status, 405) << method;
  }
}

TEST(Gate, ForbidsEverythingFromElsewhere) {
  const std::string head = head_of(admit(site(), get(kPage)), true);
  for (const char* header :
       {"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'",
        "frame-ancestors 'none'", "Cache-Control: no-store", "nosniff", "no-referrer",
        "Content-Length: 7\r\n", "Cross-Origin-Resource-Policy: same-origin"}) {
    EXPECT_THAT(head, HasSubstr(header));
  }
  EXPECT_EQ(head.find("unsafe"), head.npos);
}

}  // namespace
}  // namespace hodo::web
