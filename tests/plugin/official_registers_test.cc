// The plugin for virtual machines in a QEMU whose plugin interface gives registers.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "channel/channel_socket.h"
#include "fake_qemu.h"
#include "hodo/hw/intel_pt.h"
#include "hodo/pt/describe.h"
#include "hodo/pt/reader.h"
#include "hodo/relay/channel.h"

namespace hodo::plugin {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kUserCs = 0x33, kKernelCs = 0x10;

// nop; jmp to the nop.
qemu_plugin_tb loop_at(std::uint64_t address) {
  return {{{address, {0x90}}, {address + 1, {0xeb, 0xfd}}}};
}

class OfficialRegisters : public ::testing::Test {
 protected:
  OfficialRegisters() {
    fake_qemu() = {};
    fake_qemu().registers = {
        {"cs", kUserCs},  {"cr0", 0x8005'0033}, {"cr3", 0x5000},   {"cr4", 0x20},
        {"efer", 0xd01},  {"eflags", 0x202},    {"rip", 0x401000}, {"rsp", 0x7fff'0000},
        {"k_gs_base", 0}, {"st0", 0x1234'5678}, {"rax", 1}};
    plugin = ::dlopen(HODO_SYSTEM_PLUGIN, RTLD_LAZY | RTLD_LOCAL);
    EXPECT_NE(plugin, nullptr) << ::dlerror();
  }

  // What QEMU does first with a plugin, and a recorder that answers it.
  int install(int oldest = 2, int newest = 4) {
    const auto* version = static_cast<int*>(::dlsym(plugin, "qemu_plugin_version"));
    EXPECT_GE(*version, oldest);
    EXPECT_LE(*version, newest);
    qemu_info_t info{};
    info.target_name = "x86_64";
    info.version = {oldest, newest};
    info.system_emulation = true;
    info.system = {1, 1};
    const std::string name = "hodo-plugin-test-" + std::to_string(::getpid());
    socket = capture::Fd(relay::listen_socket(name).value());
    std::string option = "socket=" + name, watch = "process=all";
    char* words[] = {option.data(), watch.data()};
    const auto begin =
        reinterpret_cast<decltype(&qemu_plugin_install)>(::dlsym(plugin, "qemu_plugin_install"));
    return begin(1, &info, 2, words);
  }
  void start_processor() {
    std::thread recorder([this] {
      relay::Settings settings;
      settings.recorder_pid = ::getpid();
      settings.rtit_ctl = hw::rtit_ctl::kTraceEn | hw::rtit_ctl::kUser | hw::rtit_ctl::kBranchEn;
      capture::Connections connections(settings, {}, 1 << 16);
      for (int i = 0; i < 5000 && !channel; ++i) {
        auto found = connections.next(socket.get());
        if (found && *found) channel = std::move(*found);
        if (!channel) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (!channel) return;
      reader.emplace(std::move(channel->memory));
      channel->answer();
    });
    fake_qemu().on_start(1, 0);
    recorder.join();
  }
  // The packets of the processor, once the machine has ended.
  std::vector<std::string> packets() {
    fake_qemu().on_exit(1, nullptr);
    reader->finish();
    std::vector<std::string> out;
    pt::PacketReader in(reader->take());
    while (const auto packet = in.next()) out.push_back(pt::to_string(*packet));
    return out;
  }

  void* plugin = nullptr;
  capture::Fd socket;
  std::optional<capture::NewChannel> channel;
  std::optional<relay::ChannelReader> reader;
};

TEST_F(OfficialRegisters, SayWhichRingABlockIsOf) {
  ASSERT_EQ(install(), 0);
  start_processor();
  ASSERT_TRUE(channel);
  auto user = loop_at(0x401000), kernel = loop_at(0xffff'ffff'8100'0000);
  fake_qemu().registers["cs"] = kKernelCs;
  fake_qemu().run(kernel);
  fake_qemu().registers["cs"] = kUserCs;
  fake_qemu().run(user);
  EXPECT_EQ(fake_qemu().on_block.flags, QEMU_PLUGIN_CB_R_REGS);
  EXPECT_EQ(fake_qemu().lists, 1u) << "the list is the same for good";
  const auto lines = packets();
  EXPECT_THAT(lines, Contains(HasSubstr("TIP.PGE 0x401000")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("81000000"))));
}

// QEMU would go on, and every block would be of a ring that is a guess.
TEST_F(OfficialRegisters, ThatMakeNoSenseAreRefused) {
  ASSERT_EQ(install(), 0);
  start_processor();
  auto user = loop_at(0x401000);
  fake_qemu().registers["eflags"] = 0;
  EXPECT_EXIT(fake_qemu().run(user), ::testing::ExitedWithCode(125), "registers are not where");
}

}  // namespace
}  // namespace hodo::plugin
