// Who asks for a channel, and who only holds a connection.
#include "channel_socket.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace hodo::capture {
namespace {

struct ConnectionsTest : testing::Test {
  ConnectionsTest()
      : name("hodo-connections-test-" + std::to_string(::getpid())),
        listening(relay::listen_socket(name).value()) {}

  // Fails only where the machine does.
  std::optional<NewChannel> next() { return connections.next(listening.get()).value(); }

  std::string name;
  Fd listening;
  relay::Settings settings;
  Connections connections{settings, 1 << 16};
};

TEST_F(ConnectionsTest, ASilentOneIsKeptUntilItSpeaks) {
  Fd child(relay::connect_recorder(name));
  ASSERT_TRUE(child);
  EXPECT_FALSE(next());
  ASSERT_EQ(connections.silent().size(), 1u);
  bool mapped = false;
  std::thread begins([&] {
    relay::Hello hello;
    hello.tid = 77;
    mapped = relay::open_channel(child.release(), hello).has_value();
  });
  std::optional<NewChannel> asked;
  while (!asked) asked = next();
  asked->answer();
  begins.join();
  EXPECT_EQ(asked->hello.tid, 77);
  EXPECT_TRUE(mapped);
  EXPECT_TRUE(connections.silent().empty());
}

TEST_F(ConnectionsTest, AChildThatWillNotComeIsForgotten) {
  Fd failed_fork(relay::connect_recorder(name));
  Fd stays(relay::connect_recorder(name));
  EXPECT_FALSE(next());
  EXPECT_EQ(connections.silent().size(), 2u);
  failed_fork.reset();
  EXPECT_FALSE(next());
  EXPECT_EQ(connections.silent().size(), 1u);
}

TEST_F(ConnectionsTest, OneThatSpeaksAnotherProtocolIsDropped) {
  Fd stranger(relay::connect_recorder(name));
  relay::Hello hello;
  hello.version = relay::kVersion + 1;
  ASSERT_EQ(::write(stranger.get(), &hello, sizeof(hello)), sizeof(hello));
  Fd other(relay::connect_recorder(name));
  ASSERT_EQ(::write(other.get(), "hodo", 4), 4);
  EXPECT_FALSE(next());
  EXPECT_TRUE(connections.silent().empty());
}

}  // namespace
}  // namespace hodo::capture
