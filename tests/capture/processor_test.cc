// This machine's processor: CPUID, registers through the msr driver's file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "hodo/capture/btf_probe.h"
#include "hodo/capture/host_cpuid.h"
#include "hodo/capture/msr_device.h"
#include "hodo/driver/lbr_driver.h"
#include "hodo/hw/features.h"

namespace hodo::capture {
namespace {

TEST(HostCpuid, SaysWhatTheKernelSays) {
  std::ifstream file("/proc/cpuinfo");
  std::stringstream text;
  text << file.rdbuf();
  const std::string cpuinfo = text.str();
  const auto number = [&](const std::string& name) {
    std::smatch match;
    const std::regex line("(^|\\n)" + name + "\\s*: (\\d+)");
    return std::regex_search(cpuinfo, match, line) ? std::stoi(match[2]) : -1;
  };
  const auto features = hw::find_branch_features(HostCpuid());
  EXPECT_EQ(features.signature.family, number("cpu family"));
  EXPECT_EQ(features.signature.model, number("model"));
  EXPECT_EQ(features.signature.stepping, number("stepping"));
}

TEST(HostCpuid, LeavesAboveTheHighestAreZero) {
  const HostCpuid cpuid;
  const auto highest = cpuid.leaf(0).eax;
  const auto above = cpuid.leaf(highest + 1);
  EXPECT_EQ(above.eax | above.ebx | above.ecx | above.edx, 0);
}

// A file with register 0x1d9 in it stands for the driver's.
TEST(MsrDevice, ReadsTheRegisterAtItsNumber) {
  std::string root = ::testing::TempDir() + "msr.XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  std::filesystem::create_directories(root + "/dev/cpu/0");
  {
    std::ofstream file(root + "/dev/cpu/0/msr", std::ios::binary);
    file.seekp(0x1d9);
    file.write("\x41\0\0\0\0\0\0\x80", 8);
  }
  auto device = MsrDevice::open(0, MsrDevice::Access::write, root);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->read_msr(hw::msr::kDebugctl), 0x8000000000000041);
  ASSERT_TRUE(device->write_msr(hw::msr::kDebugctl, 1));
  EXPECT_EQ(device->read_msr(hw::msr::kDebugctl), 1);
  const auto missing = device->read_msr(hw::msr::kDsArea);
  ASSERT_FALSE(missing);
  EXPECT_EQ(
      missing.error().message,
      "cannot read register 0x600: this processor does not have it, or a hypervisor keeps it");
  const auto other = MsrDevice::open(7, MsrDevice::Access::read, root);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, root + "/dev/cpu/7/msr is not there; as root: modprobe msr");
  std::filesystem::remove_all(root);
}

// On a real processor, for those who ask for it: it writes registers.
TEST(MsrDevice, DrivesTheLastBranchRecordsOfThisProcessor) {
  if (std::getenv("HODO_TEST_MSRS") == nullptr) {
    GTEST_SKIP() << "HODO_TEST_MSRS=1 lets this test write registers of processor 0, as root";
  }
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(first), &first), 0);
  auto msrs = MsrDevice::open(0, MsrDevice::Access::write);
  if (!msrs) GTEST_SKIP() << msrs.error().message;
  const HostCpuid cpuid;
  auto lbr = driver::LbrDriver::open(cpuid, *msrs, {.os = true});
  if (!lbr) GTEST_SKIP() << lbr.error().message;
  ASSERT_TRUE(lbr->start());
  volatile int turns = 1000;
  while (turns > 0) turns = turns - 1;
  const Status stopped = lbr->stop();
  ASSERT_TRUE(stopped) << stopped.error().message;
  const auto entries = lbr->read();
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_EQ(entries->size(), lbr->layout().depth);
}

// Whatever the answer, it comes, and leaves no child behind.
TEST(BtfProbe, AnswersAndLeavesNothingBehind) {
  static_cast<void>(probe_btf());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace hodo::capture
