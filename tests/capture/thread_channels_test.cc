// What processes say to their recorder, and what it believes of that.
#include "channel/thread_channels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
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
