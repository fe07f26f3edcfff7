// What the recorder of a virtual machine believes of what its plugin hands over.
#include "vm/vm_channels.h"

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
using testing::IsEmpty;
using testing::SizeIs;

struct VmChannelsTest : testing::Test {
  ~VmChannelsTest() override { std::filesystem::remove(path); }

  void SetUp() override {
    std::atomic<bool> done = false;
    std::thread processor([&] {
      relay::Hello hello;
      hello.tid = 3;
      hello.start = relay::Start::processor;
      auto opened = relay::open_channel(relay::connect_recorder(name, {}), hello);
      if (opened) channel.emplace(std::move(*opened));
      done = true;
    });
    while (!done) channels.accept(listening.get());
    processor.join();
    ASSERT_TRUE(channel);
    relay::RecordHeader header;
    header.type = relay::RecordType::guest_note;
    ASSERT_TRUE(channel->write_record(header, {}, {}));
  }

  RecordResult result() {
    channels.finish();
    RecordResult out;
    channels.summarize(out);
    return out;
  }

  std::string name = "hodo-vm-channels-test-" + std::to_string(::getpid());
  std::string path = testing::TempDir() + name;
  Fd listening{relay::listen_socket(name).value()};
  perfdata::Writer writer = perfdata::Writer::create(path, {}).value();
  relay::Settings settings;
  VmChannels channels{writer, settings, {}, 1 << 16};
  std::optional<relay::ChannelWriter> channel;
};

TEST_F(VmChannelsTest, NothingIsSaidOfAWholeTrace) {
  const RecordResult found = result();
  EXPECT_TRUE(found.complete);
  EXPECT_THAT(found.unrecorded, IsEmpty());
}

TEST_F(VmChannelsTest, AProcessorsTraceThatWasWrittenOverIsMissed) {
  channel->remains().digest = 0;
  const RecordResult found = result();
  EXPECT_FALSE(found.complete);
  ASSERT_THAT(found.unrecorded, SizeIs(1));
  EXPECT_THAT(found.unrecorded[0], HasSubstr("processor 3"));
  EXPECT_THAT(found.unrecorded[0], HasSubstr("changed"));
}

}  // namespace
}  // namespace hodo::capture
