// The host over real connections.
#include "hodo/web/host.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <future>
#include <thread>

namespace hodo::web {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class HostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto host =
        Host::start({.html = "<p>page", .style = "p{}", .script = "go()"},
                    [this](std::string_view message,
                           const std::function<bool()>& gone) -> std::optional<std::string> {
                      if (message == "forever") give_up_once(gone);
                      return "<" + std::string(message) + ">";
                    });
    ASSERT_TRUE(host) << host.error().message;
    host_ = std::move(*host);
    const std::string address = host_->address();
    ASSERT_THAT(address, StartsWith("http://127.0.0.1:"));
    const std::size_t slash = address.find('/', 7);
    std::from_chars(address.data() + 17, address.data() + slash, port_);
    key_ = address.substr(slash + 1, 32);
  }

  void give_up_once(const std::function<bool()>& gone) {
    while (!gone()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    gave_up_.set_value();
  }

  int dial() const {
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port_);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(made, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    return made;
  }

  static void say(int socket, std::string_view text) {
    EXPECT_EQ(send(socket, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  // All that comes until `enough` has been seen, or until the other side closes.
  static constexpr std::string_view kAll{"\0", 1};
  static std::string hear(int socket, std::string_view enough = kAll) {
    std::string out;
    char buffer[4096];
    for (;;) {
      pollfd one{.fd = socket, .events = POLLIN, .revents = 0};
      if (poll(&one, 1, 30'000) != 1) return out + "[nothing more in 30 seconds]";
      const ssize_t size = recv(socket, buffer, sizeof(buffer), 0);
      if (size <= 0) return out;
      out.append(buffer, static_cast<std::size_t>(size));
      if (out.find(enough) != out.npos) return out;
    }
  }

  std::string ask(std::string_view request) const {
    const int socket = dial();
    say(socket, request);
    std::string out = hear(socket);
    close(socket);
    return out;
  }

  std::string head(std::string_view line, std::string_view more = "") const {
    return std::string(line) + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) + "\r\n" +
           std::string(more) + "\r\n";
  }
  std::string question(std::string_view body) const {
    return head("POST /" + key_ + "/rpc",
                "Content-Type: application/json\r\nX-Hodo-Token: " + key_ +
                    "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n") +
           std::string(body);
  }

  std::promise<void> gave_up_;
  std::unique_ptr<Host> host_;  // ends before what its answers use
  std::uint16_t port_ = 0;
  std::string key_;
};

TEST_F(HostTest, AnswersQuestionsOnOneConnection) {
  const int socket = dial();
  say(socket, question("one") + question("two"));
  const std::string both = hear(socket, "<two>");
  EXPECT_THAT(both, HasSubstr("<one>"));
  EXPECT_THAT(both, HasSubstr("<two>"));
  say(socket, head("GET /" + key_ + "/", "Connection: close\r\n"));
  EXPECT_THAT(hear(socket), HasSubstr("<p>page"));
  close(socket);
}

TEST_F(HostTest, TakesARequestByteByByte) {
  const int socket = dial();
  for (const char c : question("slowly")) say(socket, std::string_view(&c, 1));
  EXPECT_THAT(hear(socket, "<slowly>"), HasSubstr("<slowly>"));
  close(socket);
}

TEST_F(HostTest, SaysNothingToStrangers) {
  EXPECT_THAT(ask(head("GET /")), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask(head("GET /" + std::string(32, '0') + "/")), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask("GET /" + key_ + "/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
              StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(ask("\x16\x03\x01 TLS\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
}

TEST_F(HostTest, BoundsWhatItReads) {
  EXPECT_THAT(ask(head("GET /", "X: " + std::string(kLongestHead, 'x') + "\r\n")),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(ask(head("POST /" + key_ + "/rpc", "Content-Length: 99999999\r\n")),
              StartsWith("HTTP/1.1 413 "));
}

TEST_F(HostTest, BoundsItsConnections) {
  std::vector<int> sockets;
  for (unsigned i = 0; i < kMostConnections; ++i) {
    sockets.push_back(dial());
    say(sockets.back(), question("still there"));
    EXPECT_THAT(hear(sockets.back(), "there>"), HasSubstr("<still there>"));
  }
  EXPECT_EQ(ask(""), "");  // one too many is closed
  for (const int socket : sockets) close(socket);
}

// Whoever of this machine's users connects and says nothing, or little.
TEST_F(HostTest, SilentStrangersKeepNobodyOut) {
  std::vector<int> sockets;
  for (unsigned i = 0; i < 2 * kMostConnections; ++i) {
    sockets.push_back(dial());
    if (i % 2 == 0) say(sockets.back(), "POST /");
  }
  const int socket = dial();
  say(socket, question("let in"));
  EXPECT_THAT(hear(socket, "in>"), HasSubstr("<let in>"));
  close(socket);
  for (const int one : sockets) close(one);
}

TEST_F(HostTest, WhoHangsUpIsNotAnsweredAnyMore) {
  const int socket = dial();
  say(socket, question("forever"));
  auto gave_up = gave_up_.get_future();
  EXPECT_EQ(gave_up.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  close(socket);
  EXPECT_EQ(gave_up.wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST_F(HostTest, EndsWithOpenConnections) {
  const int socket = dial();
  say(socket, question("there"));
  EXPECT_THAT(hear(socket, "<there>"), HasSubstr("<there>"));
  host_.reset();
  EXPECT_EQ(hear(socket), "");
  close(socket);
}

TEST_F(HostTest, SaysWhyAPortCannotBeHad) {
  const auto second = Host::start({}, nullptr, port_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("127.0.0.1:" + std::to_string(port_)));
  EXPECT_THAT(second.error().message, HasSubstr("in use"));
}

TEST(NewKey, IsAnotherEachTime) {
  const auto one = new_key();
  const auto two = new_key();
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->size(), 32U);
  EXPECT_NE(*one, *two);
}

}  // namespace
}  // namespace hodo::web
