// Who asks for a channel, and who only holds a connection.
#include "channel/channel_socket.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>

#include "hodo/relay/descriptor_message.h"

namespace hodo::capture {
namespace {

relay::Key some_key() {
  relay::Key key;
  key.fill('k');
  return key;
}

struct ConnectionsTest : testing::Test {
  ConnectionsTest()
      : name("hodo-connections-test-" + std::to_string(::getpid())),
        listening(relay::listen_socket(name).value()) {}

  // Fails only where the machine does.
  std::optional<NewChannel> next() { return connections.next(listening.get()).value(); }

  std::string name;
  Fd listening;
  relay::Settings settings;
  relay::Key key = some_key();
  Connections connections{settings, key, 1 << 16};
};

TEST_F(ConnectionsTest, ASilentOneIsKeptUntilItSpeaks) {
  Fd child(relay::connect_recorder(name, key));
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
  Fd failed_fork(relay::connect_recorder(name, key));
  Fd stays(relay::connect_recorder(name, key));
  EXPECT_FALSE(next());
  EXPECT_EQ(connections.silent().size(), 2u);
  failed_fork.reset();
  EXPECT_FALSE(next());
  EXPECT_EQ(connections.silent().size(), 1u);
}

// A connection that stays, and ends of pairs that come on it.
struct LineTest : ConnectionsTest {
  LineTest() {
    relay::Hello hello;
    hello.start = relay::Start::line;
    send(line.get(), &hello, sizeof(hello), MSG_NOSIGNAL);
  }
  // The other end; without `hands_over` nothing goes with the message.
  Fd connect(bool hands_over = true) {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    const int on = 1;
    setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
    relay::DescriptorMessage message(ends[1]);
    if (!hands_over) message.header.msg_controllen = 0;
    EXPECT_EQ(sendmsg(line.get(), &message.header, MSG_NOSIGNAL), 1);
    close(ends[1]);
    return Fd(ends[0]);
  }

  Fd line{relay::connect_recorder(name, key)};
};

TEST_F(LineTest, ThoseWhoComeOnItAreHeard) {
  EXPECT_FALSE(next());
  EXPECT_TRUE(connections.silent().empty());  // nobody has to wait for a line
  EXPECT_EQ(connections.wake_fds().size(), 1u);
  const Fd first = connect();
  const Fd second = connect();
  EXPECT_FALSE(next());
  EXPECT_EQ(connections.silent().size(), 2u);
  relay::Hello hello;
  hello.tid = 78;
  send(second.get(), &hello, sizeof(hello), MSG_NOSIGNAL);
  const auto asked = next();
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->hello.tid, 78);
  EXPECT_EQ(asked->sender, ::getpid());
  EXPECT_EQ(asked->connected, ::getpid());
  EXPECT_EQ(connections.silent().size(), 1u);
}

TEST_F(LineTest, EndsWithItsLastHolderOrWhereItSaysAnythingElse) {
  EXPECT_FALSE(next());
  line.reset();
  EXPECT_FALSE(next());
  EXPECT_TRUE(connections.wake_fds().empty());

  line = Fd(relay::connect_recorder(name, key));
  relay::Hello hello;
  hello.start = relay::Start::line;
  send(line.get(), &hello, sizeof(hello), MSG_NOSIGNAL);
  EXPECT_FALSE(next());
  const Fd nobody = connect(false);
  EXPECT_FALSE(next());
  EXPECT_TRUE(connections.wake_fds().empty());
}

TEST_F(ConnectionsTest, WithoutTheKeyNobodyIsHeard) {
  relay::Key wrong = key;
  wrong.back() = 'x';
  Fd stranger(relay::connect_recorder(name, wrong));
  EXPECT_FALSE(next());
  EXPECT_TRUE(connections.silent().empty());
  EXPECT_EQ(connections.unproven(), 0u);
}

// Another user's process, which connects to `name` so often, and then stays.
struct Strangers {
  Strangers(const std::string& name, uid_t uid, int wanted) {
    EXPECT_EQ(::pipe(ready.data()), 0);
    EXPECT_EQ(::pipe(leave.data()), 0);
    pid = ::fork();
    if (pid != 0) return;
    ::close(leave[1]);
    if (::setuid(uid) != 0) ::_exit(1);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    for (int n = 0; n < wanted; ++n) {
      const int one = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
      if (::connect(one, reinterpret_cast<const sockaddr*>(&address), size) != 0) break;
    }
    [[maybe_unused]] auto told = ::write(ready[1], "a", 1);
    char byte = 0;
    [[maybe_unused]] auto left = ::read(leave[0], &byte, 1);
    ::_exit(0);
  }
  ~Strangers() {
    ::close(leave[1]);
    ::waitpid(pid, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
    ::close(leave[0]);
  }
  bool all_there() const {
    pollfd waiting{.fd = ready[0], .events = POLLIN, .revents = 0};
    char byte = 0;
    return ::poll(&waiting, 1, 0) > 0 && ::read(ready[0], &byte, 1) == 1 && byte == 'a';
  }
  std::array<int, 2> ready{}, leave{};
  pid_t pid = -1;
};

constexpr uid_t kNobody = 65534, kSomebody = 1000;

// What a traced thread does, meanwhile.
void expect_channel(ConnectionsTest& test) {
  bool mapped = false;
  std::thread begins([&] {
    mapped = relay::open_channel(relay::connect_recorder(test.name, test.key), {}).has_value();
  });
  std::optional<NewChannel> asked;
  for (int round = 0; round < 2000 && !asked; ++round) {
    asked = test.next();
    if (!asked) ::usleep(1000);
  }
  ASSERT_TRUE(asked);
  asked->answer();
  begins.join();
  EXPECT_TRUE(mapped);
}

// Root's recorder cannot tell them from a program that has become another user.
TEST_F(ConnectionsTest, StrangersTakeLittleOfRootsAndKeepNobodyOut) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  Strangers strangers(name, kNobody, 1000);
  for (int round = 0; round < 5000 && !strangers.all_there(); ++round) {
    EXPECT_FALSE(next());
    EXPECT_LE(connections.unproven(), Connections::kMostUnproven);
    ::usleep(1000);
  }
  EXPECT_TRUE(connections.silent().empty());
  expect_channel(*this);
  ::usleep(Connections::kPatience / 1000 + 100'000);
  EXPECT_FALSE(next());
  EXPECT_EQ(connections.unproven(), 0u) << "they never show the key";
}

// The recorded program can find the socket, too.
TEST_F(ConnectionsTest, TheSameUserTakesLittleAndKeepsNobodyOut) {
  Strangers many(name, ::geteuid(), 1000);
  for (int round = 0; round < 5000 && !many.all_there(); ++round) {
    EXPECT_FALSE(next());
    EXPECT_LE(connections.unproven(), Connections::kMostOwnUnproven);
    ::usleep(1000);
  }
  EXPECT_EQ(connections.unproven(), Connections::kMostOwnUnproven);
  expect_channel(*this);
}

TEST_F(ConnectionsTest, StrangersTakeNothingOfAUsersAndKeepNobodyOut) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  Strangers strangers(name, kNobody, 500);
  ASSERT_EQ(::seteuid(kSomebody), 0);
  for (int round = 0; round < 5000 && !strangers.all_there(); ++round) {
    EXPECT_FALSE(next());
    EXPECT_EQ(connections.unproven(), 0u);
    ::usleep(1000);
  }
  expect_channel(*this);
  EXPECT_EQ(::seteuid(0), 0);
}

// A program of root's that has become nobody.
TEST_F(ConnectionsTest, AnotherUserWithTheKeyIsRootsOwnProgram) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(kNobody) != 0) ::_exit(1);
    ::_exit(relay::open_channel(relay::connect_recorder(name, key), {}) ? 0 : 2);
  }
  std::optional<NewChannel> asked;
  for (int round = 0; round < 2000 && !asked; ++round) {
    asked = next();
    if (!asked) ::usleep(1000);
  }
  ASSERT_TRUE(asked);
  asked->answer();
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(ConnectionsTest, OneThatSpeaksAnotherProtocolIsDropped) {
  Fd stranger(relay::connect_recorder(name, key));
  relay::Hello hello;
  hello.version = relay::kVersion + 1;
  ASSERT_EQ(::write(stranger.get(), &hello, sizeof(hello)), sizeof(hello));
  Fd other(relay::connect_recorder(name, key));
  ASSERT_EQ(::write(other.get(), "hodo", 4), 4);
  EXPECT_FALSE(next());
  EXPECT_TRUE(connections.silent().empty());
}

}  // namespace
}  // namespace hodo::capture
