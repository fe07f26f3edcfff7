#include "hodo/capture/vm_attach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "fake_kernel.h"
#include "fake_qmp.h"
#include "fake_sysfs.h"
#include "guest_trace.h"
#include "hodo/perfdata/model.h"
#include "hodo/perfdata/reader.h"
#include "run/launch.h"
#include "vm/qmp.h"

namespace hodo::capture {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Type = pt::PacketType;

constexpr std::uint64_t kCr3 = 0x5000, kOther = 0x9000;
constexpr pid_t kThreads[] = {501, 502};

const std::map<std::string, std::string> kTwoProcessors = {
    {"query-kvm", R"({"enabled": true, "present": true})"},
    {"query-cpus-fast",
     R"([{"cpu-index": 1, "thread-id": 502, "target": "x86_64"},
         {"cpu-index": 0, "thread-id": 501, "target": "x86_64"}])"}};

// Messages are lines.
std::map<std::string, std::string> on_lines(std::map<std::string, std::string> answers) {
  for (auto& [name, text] : answers) std::erase(text, '\n');
  return answers;
}

class AttachTest : public ::testing::Test {
 protected:
  AttachTest() {
    system.add_pmu("intel_pt", skylake_pt());
    options.qmp_socket = system.root() + "/qmp";
    options.record.output = system.root() + "/vm.data";
    options.record.buffer_size = 64 * 1024;
    context.paths = system.paths();
    context.kernel = &kernel;
    context.version = "hodoscope test";
  }
  // Both processors play; the machine ends when the last of them is done.
  void play(FakeQmp& qmp, const std::vector<std::vector<std::uint8_t>>& traces) {
    auto playing = std::make_shared<std::atomic<std::size_t>>(traces.size());
    for (std::size_t i = 0; i < traces.size(); ++i) {
      kernel.thread_scripts[kThreads[i]] = [&qmp, playing, trace = traces[i]](FakeCpu& cpu) {
        cpu.trace(trace);
        if (--*playing == 0) qmp.end();
      };
    }
  }
  Error refusal() {
    auto result = record_vm_attach(options, context);
    EXPECT_FALSE(result);
    EXPECT_FALSE(std::filesystem::exists(options.record.output));
    return result ? Error{} : result.error();
  }

  FakeSystem system;
  FakeKernel kernel;
  VmAttachOptions options;
  PerfEventContext context;
};

TEST_F(AttachTest, TracesTheThreadsOfTheVirtualProcessors) {
  FakeQmp qmp(options.qmp_socket, on_lines(kTwoProcessors));
  play(qmp, {{}, {}});
  ASSERT_TRUE(record_vm_attach(options, context));
  ASSERT_THAT(kernel.opened, SizeIs(4));
  for (std::size_t i = 0; i < 2; ++i) {
    const FakeKernel::Opened& event = kernel.opened[2 * i];
    EXPECT_EQ(event.attr.type, 8u);
    EXPECT_EQ(event.pid, kThreads[i]);
    EXPECT_EQ(event.cpu, -1);
    EXPECT_EQ(event.attr.exclude_kernel, 0u);  // PIP packets come with kernel tracing only
    EXPECT_EQ(event.attr.exclude_user, 0u);
    EXPECT_EQ(event.attr.exclude_guest, 0u);
    EXPECT_EQ(event.attr.inherit, 0u);  // the kernel gives inherited events no AUX area of a thread
    EXPECT_EQ(event.attr.disabled, 1u);
    EXPECT_EQ(event.attr.enable_on_exec, 0u);
    EXPECT_EQ(event.attr.config & 1u << 1, 1u << 1) << "CYC";
    EXPECT_EQ(event.attr.config & 1u << 11, 1u << 11) << "no return compression";
  }
}

TEST_F(AttachTest, TheFileHasTheGuestsPartAndItsAddressSpaces) {
  FakeQmp qmp(options.qmp_socket, on_lines(kTwoProcessors));
  GuestTrace first, second;
  first.psb(1000, GuestTrace::kHostCr3, false, GuestTrace::kHandler).tnt(0b1, 1);
  first.entry(0x401000, kCr3).tsc(1500).tnt(0b10, 2).tsc(2000).pip(kOther, true).exit(0x402000);
  second.psb(3000, kCr3, true, 0x401000).tnt(0b1, 1);
  play(qmp, {first.bytes, second.bytes});
  const auto result = record_vm_attach(options, context);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->complete);
  EXPECT_THAT(result->warnings, ElementsAre(HasSubstr("code is not in the file")));  // no monitor
  EXPECT_EQ(result->processes, 2u);

  const auto reader = perfdata::Reader::open(options.record.output).value();
  auto session = perfdata::Model::load(reader).value();
  EXPECT_TRUE(session.finished());
  EXPECT_THAT(session.damages(), IsEmpty());
  ASSERT_THAT(session.queues(), SizeIs(2));
  const auto lines_of_queue = [&](std::size_t queue) {
    std::vector<std::uint8_t> all;
    for (const auto& piece : session.queues()[queue].pieces) {
      const std::size_t end = all.size();
      all.resize(end + piece.size);
      EXPECT_TRUE(reader.read(piece.file_offset, std::span(all).subspan(end)));
    }
    return lines_of(all);
  };
  EXPECT_THAT(lines_of_queue(0),
              ElementsAre("PSB", "PSBEND", "PIP 0x280 (NR=0)", "MODE.Exec IF:0 64",
                          "TIP.PGE 0x401000", "TSC 0x5dc", "TNT TN (2)", "TSC 0x7d0",
                          "PIP 0x480 (NR=0)", "FUP 0x402000", "TIP.PGD no ip"));
  EXPECT_THAT(lines_of_queue(1), Contains("TNT T (1)"));

  std::vector<std::string> names;
  for (const auto& process : session.processes()) names.emplace_back(process.comm);
  EXPECT_THAT(names, ElementsAre("cr3-5000", "cr3-9000"));
  // Half a nanosecond a tick, as the fake kernel's page says; the guest's clock begins at 0.
  const auto& turns = session.on_cpu().at(0);
  ASSERT_THAT(turns, SizeIs(2));
  EXPECT_EQ(turns[0].from, 0u);  // no TSC of the guest had come yet
  EXPECT_EQ(turns[0].pid, 5);
  EXPECT_EQ(turns[1].from, 1000u);
  EXPECT_EQ(turns[1].pid, 9);
  EXPECT_EQ(session.on_cpu().at(1)[0].pid, 5);
}

TEST_F(AttachTest, AFullBufferIsAGapOfTheGuest) {
  FakeQmp qmp(options.qmp_socket, on_lines(kTwoProcessors));
  GuestTrace before, after;
  before.psb(1000, kCr3, true, 0x401000).tnt(0b1, 1);
  after.psb(2000, kCr3, true, 0x402000).tnt(0b1, 1);
  kernel.thread_scripts[501] = [&](FakeCpu& cpu) {
    cpu.trace(before.bytes, PERF_AUX_FLAG_TRUNCATED);
    cpu.trace(after.bytes);
    qmp.end();
  };
  const auto result = record_vm_attach(options, context);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_FALSE(result->complete);
  EXPECT_EQ(result->overflows, 1u);
  EXPECT_THAT(result->warnings, Contains(HasSubstr("1 gaps")));
}

TEST_F(AttachTest, EndsWhenItsTimeIsOver) {
  FakeQmp qmp(options.qmp_socket, on_lines(kTwoProcessors));
  options.seconds = 0.05;
  const auto result = record_vm_attach(options, context);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result->warnings, Contains(HasSubstr("no VM entry")));
}

TEST_F(AttachTest, EndsAtASignal) {
  FakeQmp qmp(options.qmp_socket, on_lines(kTwoProcessors));
  const pthread_t recorder = ::pthread_self();
  kernel.thread_scripts[501] = [&](FakeCpu& cpu) {
    GuestTrace trace;
    cpu.trace(trace.psb(1000, kCr3, true, 0x401000).bytes);
    ::pthread_kill(recorder, SIGTERM);
  };
  const auto result = record_vm_attach(options, context);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->processes, 1u);
}

TEST_F(AttachTest, AnEmulatedMachineIsRefused) {
  FakeQmp qmp(options.qmp_socket, {{"query-kvm", R"({"enabled": false, "present": true})"}});
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, HasSubstr("hodo vm record"));
}

TEST_F(AttachTest, AKvmThatKeepsTheTraceForItsGuestsIsRefused) {
  system.write("kvm_intel/pt_mode", "1");
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, HasSubstr("pt_mode=0"));
}

TEST_F(AttachTest, WithoutASocketTheRemedyIsSaid) {
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_THAT(error.message, HasSubstr("-qmp unix:" + options.qmp_socket));
}

TEST_F(AttachTest, AThreadThatMayNotBeTracedIsSaid) {
  FakeQmp qmp(options.qmp_socket, on_lines(kTwoProcessors));
  kernel.refuse = [](const FakeKernel::Opened&) { return EACCES; };
  EXPECT_EQ(refusal().code, ErrorCode::not_permitted);
}

TEST(Qmp, WhatGreetsInAnotherWayIsNoQemu) {
  FakeSystem system;
  FakeQmp server(system.root() + "/qmp", {});
  server.greeting = "{\"hello\": 1}";
  EXPECT_EQ(Qmp::connect(server.path()).error().code, ErrorCode::malformed);
}

TEST(Qmp, ARefusedCommandHasQemusWords) {
  FakeSystem system;
  FakeQmp server(system.root() + "/qmp", {});
  auto qmp = Qmp::connect(server.path());
  ASSERT_TRUE(qmp) << qmp.error().message;
  const auto cpus = qmp->cpus();
  ASSERT_FALSE(cpus);
  EXPECT_EQ(cpus.error().code, ErrorCode::unsupported);
  EXPECT_THAT(cpus.error().message, HasSubstr("query-cpus-fast has not been found"));
}

TEST(Qmp, ProcessorsNeedThreads) {
  FakeSystem system;
  for (const char* answer :
       {"{}", "[1]", R"([{"cpu-index": 0}])", R"([{"cpu-index": -1, "thread-id": 7}])",
        R"([{"cpu-index": 0, "thread-id": 0}])"}) {
    FakeQmp server(system.root() + "/qmp", {{"query-cpus-fast", answer}});
    auto qmp = Qmp::connect(server.path());
    ASSERT_TRUE(qmp);
    EXPECT_EQ(qmp->cpus().error().code, ErrorCode::malformed) << answer;
  }
}

// The real thing, stopped before its first instruction.
TEST(Qmp, QemuTellsItsProcessorsAndAnswersItsMonitor) {
  if (!find_command("qemu-system-x86_64")) GTEST_SKIP() << "no qemu-system-x86_64 here";
  FakeSystem system;
  const std::string path = system.root() + "/qmp";
  auto qemu = Program::prepare(
      {.command = {"qemu-system-x86_64", "-S", "-nodefaults", "-display", "none", "-accel", "tcg",
                   "-m", "16", "-smp", "2", "-qmp", "unix:" + path + ",server=on,wait=off"},
       .environment = {},
       .inherit_fds = {}});
  ASSERT_TRUE(qemu && (*qemu)->start());
  auto qmp = Qmp::connect(path);
  for (int i = 0; i < 3000 && !qmp && !(*qemu)->exit_status(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    qmp = Qmp::connect(path);
  }
  ASSERT_TRUE(qmp) << qmp.error().message;
  EXPECT_FALSE(qmp->uses_kvm().value());
  const auto cpus = qmp->cpus();
  ASSERT_TRUE(cpus) << cpus.error().message;
  ASSERT_THAT(*cpus, SizeIs(2));
  EXPECT_EQ((*cpus)[1].index, 1u);
  EXPECT_THAT(qmp->monitor("info status").value(), HasSubstr("paused"));
  EXPECT_TRUE(qmp->alive());
  (*qemu)->kill(SIGKILL);
  (*qemu)->wait();
  EXPECT_FALSE(qmp->alive());
}

}  // namespace
}  // namespace hodo::capture
