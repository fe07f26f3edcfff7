// Heads of HTTP requests, well formed and not.
#include "request.h"

#include <gtest/gtest.h>

#include "hodo/web/host.h"

namespace hodo::web {
namespace {

int status_of(std::string_view head) {
  const auto request = parse_request(head);
  return request ? 200 : request.error();
}

TEST(ParseRequest, HasWhatCounts) {
  const auto request = parse_request(
      "POST /key/rpc HTTP/1.1\r\nHost: 127.0.0.1:80\r\norigin:\thttp://127.0.0.1:80 \r\n"
      "CONTENT-LENGTH: 12\r\nX-Hodo-Token: key\r\nAccept: */*\r\n\r\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "POST");
  EXPECT_EQ(request->target, "/key/rpc");
  EXPECT_EQ(request->host, "127.0.0.1:80");
  EXPECT_EQ(request->origin, "http://127.0.0.1:80");
  EXPECT_EQ(request->key, "key");
  EXPECT_EQ(request->length, 12U);
  EXPECT_TRUE(request->keep);
}

TEST(ParseRequest, RefusesEveryHeadThatIsCutShort) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  for (std::size_t size = 0; size < head.size(); ++size) {
    EXPECT_EQ(status_of(head.substr(0, size)), 400) << size;
  }
  EXPECT_EQ(status_of(head), 200);
}

TEST(ParseRequest, RefusesWhatIsNoRequest) {
  for (const char* head :
       {"GET / HTTP/1.0\r\n\r\n", "GET /\r\n\r\n", "GET http://a/ HTTP/1.1\r\n\r\n",
        "GET * HTTP/1.1\r\n\r\n", " / HTTP/1.1\r\n\r\n", "GET /a b HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET / HTTP/1.1\r\n: a\r\n\r\n", "GET / HTTP/1.1\r\nHost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n"}) {
    EXPECT_EQ(status_of(head), 400) << head;
  }
}

// Two parsers that take a different one of them would see different requests.
TEST(ParseRequest, RefusesHeadersThatCountTwice) {
  const std::string begin = "POST / HTTP/1.1\r\n";
  for (const char* name : {"Host", "Origin", "X-Hodo-Token", "Sec-Fetch-Site", "Content-Type"}) {
    EXPECT_EQ(status_of(begin + name + ": a\r\n" + name + ": a\r\n\r\n"), 400) << name;
  }
  EXPECT_EQ(status_of(begin + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n"), 400);
}

TEST(ParseRequest, BoundsTheBody) {
  const auto with = [](const std::string& length) {
    return status_of("POST / HTTP/1.1\r\nContent-Length: " + length + "\r\n\r\n");
  };
  EXPECT_EQ(with(std::to_string(kLongestBody)), 200);
  EXPECT_EQ(with(std::to_string(kLongestBody + 1)), 413);
  EXPECT_EQ(with("99999999999999999999999999"), 413);
  for (const char* length : {"", "-1", "+1", "0x10", "1 ", "1,1"}) {
    EXPECT_EQ(with(length), std::string_view(length) == "1 " ? 200 : 400) << length;
  }
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 501);
}

}  // namespace
}  // namespace hodo::web
