// What processes say to their recorder, and what it believes of that.
#include "channel/thread_channels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace hodo::capture {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

struct ThreadChannelsTest : testing::Test {
  ~ThreadChannelsTest() override { std::filesystem::remove(path); }

  // As this process, of which the recorder can see that it lives.
  relay::ChannelWriter begin(relay::Start start) {
    std::optional<relay::ChannelWriter> opened;
    std::atomic<bool> done = false;
    std::thread process([&] {
      relay::Hello hello;
      hello.pid = hello.tid = ::getpid();
      hello.start = start;
      auto channel = relay::open_channel(relay::connect_recorder(name, {}), hello);
      if (channel) opened.emplace(std::move(*channel));
      done = true;
    });
    while (!done) channels.accept(listening.get());
    process.join();
    return std::move(opened.value());
  }

  std::vector<OverwrittenChannel> distrusted() {
    channels.drain(true);
    RecordResult result;
    channels.summarize(result);
    return result.overwritten;
  }

  std::string name = "hodo-channels-test-" + std::to_string(::getpid());
  std::string path = testing::TempDir() + name;
  Fd listening{relay::listen_socket(name).value()};
  perfdata::Writer writer = perfdata::Writer::create(path, {}).value();
  relay::Settings settings;
  ThreadChannels channels{writer, settings, {}, 1 << 16, false};
};

TEST_F(ThreadChannelsTest, AProcessMayExecuteAnotherProgram) {
  relay::ChannelWriter first = begin(relay::Start::image);
  first.leave(true);
  const relay::ChannelWriter second = begin(relay::Start::image);
  EXPECT_THAT(distrusted(), SizeIs(0));
}

// By somebody who has found the recording's key.
TEST_F(ThreadChannelsTest, AProgramThatWasNotExecutedIsNotBelieved) {
  const relay::ChannelWriter first = begin(relay::Start::image);
  const relay::ChannelWriter forged = begin(relay::Start::image);
  const auto found = distrusted();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().pid, ::getpid());
  EXPECT_THAT(found.front().what, HasSubstr("announced"));
}

// It was about to, and could not: what comes then is not its doing.
TEST_F(ThreadChannelsTest, AProgramThatCouldNotBeExecutedIsNotLeft) {
  relay::ChannelWriter first = begin(relay::Start::image);
  first.leave(true);
  first.leave(false);
  const relay::ChannelWriter forged = begin(relay::Start::image);
  EXPECT_THAT(distrusted(), SizeIs(1));
}

// A process that ends so once it has a channel, without another word.
RecordResult ended_by(const std::function<void(relay::ChannelWriter&)>& end,
                      ThreadChannelsTest& test) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core{};
    ::setrlimit(RLIMIT_CORE, &no_core);
    relay::Hello hello;
    hello.pid = hello.tid = ::getpid();
    hello.start = relay::Start::image;
    auto channel = relay::open_channel(relay::connect_recorder(test.name, {}), hello);
    end(*channel);
  }
  siginfo_t ended{};
  while (ended.si_pid == 0) {
    test.channels.accept(test.listening.get());
    ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT);
  }
  test.channels.drain(true);
  ::waitpid(child, nullptr, 0);
  RecordResult result;
  test.channels.summarize(result);
  return result;
}

void fault(relay::ChannelWriter&) {
  ::signal(SIGSEGV, SIG_DFL);
  ::raise(SIGSEGV);
}

// Of a fault what records the process tells, unless it is what is broken.
TEST_F(ThreadChannelsTest, AFaultThatNobodyToldOfIsALoss) {
  const RecordResult result = ended_by(fault, *this);
  ASSERT_THAT(result.ends, SizeIs(1));
  EXPECT_EQ(result.ends[0].signal, SIGSEGV);
  ASSERT_THAT(result.unrecorded, SizeIs(1));
  EXPECT_THAT(result.unrecorded[0], HasSubstr("killed by SIGSEGV"));
}

TEST_F(ThreadChannelsTest, AnExitThatNobodyToldOfIsALoss) {
  const RecordResult result = ended_by([](relay::ChannelWriter&) { ::_exit(70); }, *this);
  ASSERT_THAT(result.ends, SizeIs(1));
  EXPECT_EQ(result.ends[0].exit_status, 70);
  ASSERT_THAT(result.unrecorded, SizeIs(1));
  EXPECT_THAT(result.unrecorded[0], HasSubstr("ended with status 70"));
}

// Which can come from outside at any moment.
TEST_F(ThreadChannelsTest, OfSigkillNobodyCanTell) {
  const RecordResult result = ended_by([](relay::ChannelWriter&) { ::raise(SIGKILL); }, *this);
  ASSERT_THAT(result.ends, SizeIs(1));
  EXPECT_EQ(result.ends[0].signal, SIGKILL);
  EXPECT_THAT(result.unrecorded, SizeIs(0));
}

TEST_F(ThreadChannelsTest, TheEndOfAnotherProgramIsNotThisOnes) {
  const auto end = [](relay::ChannelWriter& channel) {
    channel.leave(true);
    ::_exit(0);
  };
  EXPECT_THAT(ended_by(end, *this).unrecorded, SizeIs(0));
}

TEST_F(ThreadChannelsTest, AClosedChannelNeedsNoEnd) {
  const auto end = [](relay::ChannelWriter& channel) {
    channel.close();
    ::_exit(0);
  };
  EXPECT_THAT(ended_by(end, *this).unrecorded, SizeIs(0));
}

// What a program chose must not make the recording's summary too large to be read.
TEST_F(ThreadChannelsTest, ProgramsWithLongPathsAreNamedInShort) {
  relay::ChannelWriter process = begin(relay::Start::image);
  const std::string longest(4000, '\1');
  const std::string text = longest + '\0' + "it is set-user-ID";
  relay::RecordHeader header;
  header.type = relay::RecordType::native;
  ASSERT_TRUE(process.write_record(
      header, {}, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
  channels.drain(true);
  RecordResult result;
  channels.summarize(result);
  ASSERT_THAT(result.unrecorded, SizeIs(1));
  EXPECT_LT(result.unrecorded[0].size(), 1000u);
  EXPECT_THAT(result.unrecorded[0], HasSubstr("set-user-ID"));
}

}  // namespace
}  // namespace hodo::capture
