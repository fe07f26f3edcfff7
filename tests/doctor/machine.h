// A made-up machine: a processor, the kernel's files in a folder, and a kernel that opens events or
// refuses them.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "hodo/doctor/report.h"
#include "processors.h"

namespace hodo::doctor {

class FakeKernel final : public capture::Kernel {
 public:
  std::map<std::uint32_t, int> refusals;  // errno by attr.type
  int lbr = 0;
  int pebs = 0;

  capture::KernelResult<capture::Fd> open_event(const perf_event_attr& attr, pid_t, int) override {
    EXPECT_EQ(attr.disabled, 1);
    EXPECT_EQ(attr.exclude_kernel, 1);
    int reason = refusals.contains(attr.type) ? refusals[attr.type] : 0;
    if (attr.type == PERF_TYPE_HARDWARE) {
      reason = (attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0 ? lbr : pebs;
    }
    if (reason != 0) return std::unexpected(reason);
    return capture::Fd();
  }
  capture::KernelResult<std::span<std::uint8_t>> map(int, std::size_t, std::uint64_t,
                                                     bool) override {
    return std::unexpected(ENOSYS);
  }
  void unmap(std::span<std::uint8_t>) override {}
  capture::KernelResult<std::uint64_t> event_id(int) override { return std::unexpected(ENOSYS); }
  capture::KernelResult<void> enable(int) override { return std::unexpected(ENOSYS); }
  capture::KernelResult<void> disable(int) override { return std::unexpected(ENOSYS); }
  capture::KernelResult<void> set_output(int, int) override { return std::unexpected(ENOSYS); }
  capture::KernelResult<void> set_filter(int, const char*) override {
    return std::unexpected(ENOSYS);
  }
};

class FakeMsrs final : public hw::MsrBus {
 public:
  std::map<std::uint32_t, std::uint64_t> values;
  Result<std::uint64_t> read_msr(std::uint32_t number) override {
    const auto found = values.find(number);
    if (found == values.end()) return fail(ErrorCode::unsupported, "#GP");
    return found->second;
  }
  Status write_msr(std::uint32_t, std::uint64_t) override {
    ADD_FAILURE() << "the doctor writes no register";
    return fail(ErrorCode::unsupported, "#GP");
  }
};

// Everything works; each test takes one thing away.
class Machine {
 public:
  static constexpr std::uint32_t kPt = 8;
  static constexpr std::uint32_t kBts = 9;

  explicit Machine(const std::string& processor) : cpuid(hw::processor(processor)) {
    std::string name = ::testing::TempDir() + "machine.XXXXXX";
    root = ::mkdtemp(name.data());
    write("proc/sys/kernel/osrelease", "6.1.0-18-amd64");
    write("proc/sys/kernel/perf_event_paranoid", "2");
    write("proc/sys/kernel/perf_event_mlock_kb", "16384");
    write("sys/kernel/security/lockdown", "[none] integrity confidentiality");
    write(kDevices + "intel_pt/type", "8");
    write(kDevices + "intel_pt/nr_addr_filters", "2");
    write(kDevices + "intel_bts/type", "9");
    write(kDevices + "cpu/type", "4");
    msrs.values = {{hw::msr::kMiscEnable, 0}, {hw::msr::kPerfCapabilities, 0x1345}};
    qemu = {.qemu64 = "/usr/bin/qemu-x86_64",
            .qemu32 = "/usr/bin/qemu-i386",
            .plugin = "/usr/lib/hodoscope/libhodo-qemu.so"};
  }
  ~Machine() { std::filesystem::remove_all(root); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path full = root + "/" + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text << '\n';
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(root + "/" + path); }
  void remove_pmu(const std::string& name) const { remove(kDevices + name); }

  Report report() {
    return diagnose(gather({.cpuid = &cpuid,
                            .msrs = no_msrs.empty() ? &msrs : nullptr,
                            .no_msrs = no_msrs,
                            .root = root,
                            .kernel = &kernel,
                            .privileged = privileged,
                            .find_qemu = [this] { return qemu; },
                            .find_engine = [this] { return engine; },
                            .steps_branches = [this] { return steps_branches; }}));
  }
  Item item(const std::string& key) {
    for (Item& item : report().items) {
      if (item.key == key) return item;
    }
    ADD_FAILURE() << "no item " << key;
    return {};
  }

  hw::CpuidDump cpuid;
  std::string root;
  FakeMsrs msrs;
  std::string no_msrs;
  FakeKernel kernel;
  bool privileged = false;
  Result<capture::QemuInstallation> qemu;
  Result<std::string> engine = std::string("/usr/lib/hodoscope/hodo-engine");
  void remove_engine() {
    engine = fail(ErrorCode::unsupported, "hodo-engine is missing; remedy: build it");
  }
  std::optional<bool> steps_branches = true;

 private:
  inline static const std::string kDevices = "sys/bus/event_source/devices/";
};

}  // namespace hodo::doctor
