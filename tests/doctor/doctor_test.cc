// The doctor on made-up machines, one trouble each, and on the CPUID of real processors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "machine.h"

namespace hodo::doctor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(Doctor, FindsNothingWrongWithAGoodMachine) {
  Machine m("skylake");
  const Report report = m.report();
  for (const Item& item : report.items) {
    EXPECT_EQ(item.verdict, Verdict::yes) << item.name << ": " << item.why;
    EXPECT_EQ(item.why, "") << item.name;
    EXPECT_EQ(item.remedy, "") << item.name;
  }
  EXPECT_EQ(report.processor,
            "Intel(R) Core(TM) i5-6400T CPU @ 2.20GHz (family 6, model 94, stepping 3)");
  EXPECT_EQ(report.hypervisor, "none");
  EXPECT_EQ(report.kernel, "6.1.0-18-amd64, perf_event_paranoid 2, lockdown none");
  EXPECT_EQ(report.source, "pt");
  EXPECT_THAT(m.item("pt").details, Contains(Pair("filters for users", "2")));
  EXPECT_THAT(m.item("pebs").details, Contains(Pair("format", "3")));
}

TEST(Doctor, HypervisorWithoutPmu) {
  Machine m("skylake-vmware");
  m.no_msrs = "/dev/cpu/0/msr is not there; as root: modprobe msr";
  for (const char* name : {"intel_pt", "intel_bts", "cpu"}) m.remove_pmu(name);
  m.kernel.lbr = m.kernel.pebs = ENOENT;
  m.steps_branches = false;
  EXPECT_EQ(m.report().hypervisor, "VMware");
  EXPECT_EQ(m.item("pt").why, "the hypervisor (VMware) hides Intel PT from this machine");
  EXPECT_EQ(m.item("pt").remedy,
            "run hodo on its host; here, --source dbi records with the software trace unit");
  EXPECT_EQ(m.item("lbr").verdict, Verdict::no);
  EXPECT_THAT(m.item("lbr").remedy, HasSubstr("pmu=on"));
  EXPECT_THAT(m.item("lbr").remedy,
              HasSubstr("here, --source lbr records with the software trace unit"));
  EXPECT_EQ(m.item("btf").verdict, Verdict::no);
  EXPECT_THAT(m.item("btf").why, HasSubstr("the hypervisor ignores it"));
  EXPECT_EQ(m.item("registers").why, "/dev/cpu/0/msr is not there");
  EXPECT_EQ(m.item("registers").remedy, "as root: modprobe msr");
  EXPECT_EQ(m.report().source, "dbi");
}

// KVM has no virtual PMU with AMD's stack that one could ask for.
TEST(Doctor, HypervisorOnAmd) {
  Machine m("zen4-raphael");
  m.cpuid = hw::processor(
      "zen4-raphael",
      "0x40000000 0x00: eax=0x40000001 ebx=0x4b4d564b ecx=0x564b4d56 edx=0x0000004d\n"
      "0x00000001 0x00: eax=0x00a60f12 ebx=0x000c0800 ecx=0xfef8320b edx=0x178bfbff\n"
      "0x80000022 0x00: eax=0x00000001 ebx=0x00000006 ecx=0x00000000 edx=0x00000000\n");
  m.kernel.lbr = EOPNOTSUPP;
  constexpr const char* kRemedy =
      "run hodo on its host; here, --source lbr records with the software trace unit";
  EXPECT_EQ(m.item("lbr").remedy, kRemedy);
  m.remove_pmu("cpu");
  m.kernel.lbr = ENOENT;
  EXPECT_EQ(m.item("lbr").remedy, kRemedy);
  // Linux samples none of Zen 3's on a host either.
  m.cpuid = hw::processor(
      "zen3-vermeer",
      "0x40000000 0x00: eax=0x40000001 ebx=0x4b4d564b ecx=0x564b4d56 edx=0x0000004d\n"
      "0x00000001 0x00: eax=0x00a20f10 ebx=0x00180800 ecx=0xfed8320b edx=0x178bfbff\n");
  EXPECT_EQ(m.item("lbr").remedy, "--source lbr records with the software trace unit");
}

// Nor with architectural LBR.
TEST(Doctor, HypervisorOnAnIntelProcessorWithArchitecturalLbr) {
  const Report report = diagnose(gather_dump(hw::processor(
      "sapphire-rapids",
      "0x00000001 0x00: eax=0x000806f8 ebx=0x00800800 ecx=0xfffefbff edx=0xbfcbfbff\n"
      "0x00000007 0x00: eax=0x00000002 ebx=0xf1bfbffb ecx=0xbb417fee edx=0xffd54430\n")));
  EXPECT_EQ(report.items[2].verdict, Verdict::no);
  EXPECT_EQ(report.items[2].remedy,
            "run hodo on its host; here, --source lbr records with the software trace unit");
  EXPECT_THAT(report.items[3].remedy, HasSubstr("pmu=on"));
}

TEST(Doctor, PerfEventParanoid) {
  Machine m("skylake");
  m.write("proc/sys/kernel/perf_event_paranoid", "3");
  m.kernel.refusals = {{Machine::kPt, EACCES}, {Machine::kBts, EACCES}};
  m.kernel.lbr = m.kernel.pebs = EACCES;
  for (const char* key : {"pt", "lbr", "pebs"}) {
    EXPECT_EQ(m.item(key).why, "kernel.perf_event_paranoid is 3, which forbids it to users");
    EXPECT_EQ(m.item(key).remedy, "as root: sysctl kernel.perf_event_paranoid=2");
  }
  // BTS shows kernel addresses.
  EXPECT_EQ(m.item("bts").remedy, "as root: sysctl kernel.perf_event_paranoid=1");
  EXPECT_EQ(m.report().source, "dbi");
}

TEST(Doctor, ContainerThatForbidsPerfEventOpen) {
  Machine m("skylake");
  m.kernel.refusals = {{Machine::kPt, EPERM}};
  EXPECT_THAT(m.item("pt").why, HasSubstr("seccomp"));
  EXPECT_THAT(m.item("pt").remedy, HasSubstr("--cap-add PERFMON"));
}

TEST(Doctor, LimitOfLockedMemory) {
  Machine m("skylake");
  m.write("proc/sys/kernel/perf_event_mlock_kb", "516");
  EXPECT_THAT(m.item("buffers").why, HasSubstr("users get 516 KiB for each processor"));
  EXPECT_EQ(m.item("buffers").remedy, "as root: sysctl kernel.perf_event_mlock_kb=9224");
  m.privileged = true;
  EXPECT_EQ(m.item("buffers").why, "");
}

TEST(Doctor, Lockdown) {
  Machine m("skylake");
  m.write("sys/kernel/security/lockdown", "none [integrity] confidentiality");
  EXPECT_THAT(m.item("registers").why, HasSubstr("locked down (integrity)"));
  EXPECT_THAT(m.item("registers").remedy, HasSubstr("Secure Boot"));
  m.write("sys/kernel/security/lockdown", "none integrity [confidentiality]");
  EXPECT_THAT(m.item("registers").why, HasSubstr("locked down (confidentiality)"));
  // Events without PERF_SAMPLE_REGS_INTR are none of its business.
  m.kernel.lbr = EPERM;
  EXPECT_THAT(m.item("lbr").why, HasSubstr("seccomp"));
}

TEST(Doctor, FirmwareSwitchedBtsOff) {
  Machine m("skylake");
  m.msrs.values[hw::msr::kMiscEnable] =
      hw::misc_enable::kBtsUnavailable | hw::misc_enable::kPebsUnavailable;
  m.remove_pmu("intel_bts");
  EXPECT_THAT(m.item("bts").why, HasSubstr("IA32_MISC_ENABLE says that BTS is unavailable"));
  EXPECT_THAT(m.item("bts").remedy, HasSubstr("firmware's set-up"));
  EXPECT_THAT(m.item("pebs").why, HasSubstr("PEBS is unavailable"));
}

TEST(Doctor, FirmwareSwitchedIntelPtOff) {
  Machine m("skylake");
  m.cpuid = *hw::CpuidDump::parse(
      "0x0 0x0: eax=0x7 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n"
      "0x1 0x0: eax=0x000506e3 ebx=0x0 ecx=0x8014 edx=0x00200020\n"
      "0x7 0x0: eax=0x0 ebx=0x009c27ab ecx=0x0 edx=0x0\n");
  m.remove_pmu("intel_pt");
  EXPECT_THAT(m.item("pt").why, HasSubstr("the firmware may have switched it off"));
  EXPECT_THAT(m.item("pt").remedy, HasSubstr("Intel Processor Trace"));
  EXPECT_EQ(m.report().source, "dbi");
}

TEST(Doctor, KernelWithoutDriver) {
  Machine m("skylake");
  m.remove_pmu("intel_pt");
  m.remove_pmu("intel_bts");
  EXPECT_THAT(m.item("pt").why, HasSubstr("no intel_pt PMU"));
  EXPECT_THAT(m.item("pt").remedy, HasSubstr("dmesg"));
  EXPECT_THAT(m.item("bts").why, HasSubstr("no intel_bts PMU"));
}

TEST(Doctor, PageTableIsolationTakesBtsAway) {
  Machine m("skylake");
  m.write("proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu dtes64 bts pti");
  EXPECT_EQ(m.item("bts").verdict, Verdict::yes);
  m.remove_pmu("intel_bts");
  EXPECT_THAT(m.item("bts").why, HasSubstr("page table isolation (PTI)"));
  EXPECT_THAT(m.item("bts").remedy, HasSubstr("nopti"));
  EXPECT_THAT(m.item("bts").remedy, HasSubstr("can read all memory"));
}

TEST(Doctor, TheKernelTakesNo32BitBtsRecords) {
  Machine m("core-duo-yonah");
  m.remove_pmu("intel_bts");
  EXPECT_THAT(m.item("bts").why, HasSubstr("64-bit BTS records only"));
}

TEST(Doctor, AnotherUserOfIntelPt) {
  Machine m("skylake");
  m.kernel.refusals = {{Machine::kPt, EBUSY}};
  EXPECT_EQ(m.item("pt").why, "another user has the hardware");
  EXPECT_EQ(m.item("pt").remedy, "end the other recording: ps -e | grep -wE 'perf|hodo|gdb'");
  m.write("sys/module/kvm_intel/parameters/pt_mode", "1");
  EXPECT_THAT(m.item("pt").why, HasSubstr("KVM keeps it for guests"));
  EXPECT_THAT(m.item("pt").remedy, HasSubstr("modprobe kvm_intel pt_mode=0"));
}

TEST(Doctor, TheEngineComesBeforeQemu) {
  Machine m("skylake");
  m.remove_pmu("intel_pt");
  EXPECT_EQ(m.report().source, "dbi");
  EXPECT_THAT(report_text(m.report(), {.columns = 200}), HasSubstr("an engine inside it"));
  m.steps_branches = std::nullopt;  // ptrace is not permitted
  EXPECT_EQ(m.item("dbi").verdict, Verdict::no);
  EXPECT_EQ(m.report().source, "qemu");
  m.remove_engine();
  EXPECT_EQ(m.item("dbi").why, "hodo-engine is missing");
  EXPECT_EQ(m.item("dbi").remedy, "build it");
  EXPECT_EQ(m.report().source, "qemu");
}

TEST(Doctor, QemuIsNotInstalled) {
  Machine m("haswell");
  m.remove_engine();
  m.qemu =
      fail(ErrorCode::not_found, "qemu-x86_64 is not installed; remedy: apt-get install qemu-user");
  EXPECT_EQ(m.item("qemu").verdict, Verdict::no);
  EXPECT_EQ(m.item("qemu").why, "qemu-x86_64 is not installed");
  EXPECT_EQ(m.item("qemu").remedy, "apt-get install qemu-user");
  EXPECT_EQ(m.report().source, "step");
  m.steps_branches = std::nullopt;
  EXPECT_EQ(m.report().source, "");
}

std::string last_line(const Report& report) {
  const std::string text = report_text(report, {.columns = 200});
  return text.substr(text.rfind('\n', text.size() - 2) + 1);
}

TEST(Doctor, NamesTheSourcesThatRecordWithoutQemu) {
  Machine m("haswell");
  m.remove_engine();
  m.qemu =
      fail(ErrorCode::not_found, "qemu-x86_64 is not installed; remedy: apt-get install qemu-user");
  EXPECT_EQ(last_line(m.report()),
            "recording  hodo record -- CMD steps the program, which is slow, and needs QEMU for "
            "more, see "
            "its line; --source bts and --source lbr can do without, too\n");
  m.remove_pmu("intel_bts");
  m.kernel.lbr = EOPNOTSUPP;
  EXPECT_EQ(last_line(m.report()),
            "recording  hodo record -- CMD steps the program, which is slow, and needs QEMU for "
            "more, see "
            "its line\n");
  m.steps_branches = std::nullopt;
  EXPECT_EQ(last_line(m.report()), "recording  hodo record -- CMD needs QEMU, see its line\n");
}

// What the recorder itself says: capture::find_qemu.
TEST(Doctor, TakesQemusTroublesFromTheRecorder) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nonexistent", 1);
  const auto qemu = capture::find_qemu();
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(qemu);
  EXPECT_THAT(qemu.error().message, HasSubstr("; remedy: "));
}

TEST(Doctor, PluginIsMissing) {
  Machine m("haswell");
  m.qemu = fail(ErrorCode::not_found,
                "libhodo-qemu.so is missing; remedy: build or install hodoscope again");
  EXPECT_EQ(m.item("qemu").why, "libhodo-qemu.so is missing");
  EXPECT_EQ(m.item("qemu").remedy, "build or install hodoscope again");
}

TEST(Doctor, PtraceIsForbidden) {
  Machine m("skylake");
  m.steps_branches = std::nullopt;
  EXPECT_EQ(m.item("btf").verdict, Verdict::unknown);
  EXPECT_EQ(m.item("btf").remedy, "as root: sysctl kernel.yama.ptrace_scope=1");
}

// Milan is Vermeer with BRS: CPUID.80000008H:EBX[31]. The kernel takes one event for it.
TEST(Doctor, KnowsAmdsBranchSampling) {
  Machine m("zen3-vermeer");
  m.cpuid = hw::processor(
      "zen3-vermeer",
      "0x80000008 0x00: eax=0x00003030 ebx=0x911ef657 ecx=0x00005017 edx=0x00010000\n");
  const Item dump = diagnose(gather_dump(m.cpuid)).items[2];
  EXPECT_EQ(dump.verdict, Verdict::yes);
  EXPECT_THAT(dump.details, Contains(Pair("depth", "16")));
  EXPECT_THAT(dump.details, Contains(Pair("kind", "AMD BRS")));
  EXPECT_THAT(dump.details, Contains(Pair("sampled by Linux", "yes")));
  m.write("sys/bus/event_source/devices/cpu/events/branch-brs", "event=0xc4");
  m.kernel.lbr = EINVAL;  // of all other events
  EXPECT_EQ(m.item("lbr").verdict, Verdict::yes) << m.item("lbr").why;
}

// A model that no table knows, and a kernel that can use it all the same.
TEST(Doctor, BelievesTheKernelAboutUnknownProcessors) {
  Machine m("skylake");
  m.cpuid = *hw::CpuidDump::parse(
      "0x0 0x0: eax=0x1 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n"
      "0x1 0x0: eax=0x000ff6f3 ebx=0x0 ecx=0x8014 edx=0x00200020\n");
  EXPECT_EQ(m.item("lbr").verdict, Verdict::yes);
  m.kernel.lbr = EOPNOTSUPP;
  EXPECT_EQ(m.item("lbr").verdict, Verdict::no);
  EXPECT_THAT(m.item("lbr").why, HasSubstr("the kernel cannot use it on this machine"));
}

struct Dump {
  const char* name;
  Verdict pt, bts, lbr, pebs;
  const char* bts_record;
  const char* lbr_depth;
};
void PrintTo(const Dump& d, std::ostream* out) { *out << d.name; }

class Dumps : public ::testing::TestWithParam<Dump> {};

TEST_P(Dumps, TellWhatTheProcessorCan) {
  const Dump& d = GetParam();
  const hw::CpuidDump cpuid = hw::processor(d.name);
  const Report report = diagnose(gather_dump(cpuid));
  ASSERT_EQ(report.items.size(), 5);
  EXPECT_EQ(report.items[0].verdict, d.pt);
  EXPECT_EQ(report.items[1].verdict, d.bts);
  EXPECT_EQ(report.items[2].verdict, d.lbr);
  EXPECT_EQ(report.items[3].verdict, d.pebs);
  EXPECT_EQ(report.items[4].verdict, Verdict::yes);
  if (d.bts == Verdict::yes) {
    EXPECT_THAT(report.items[1].details, Contains(Pair("record", d.bts_record)));
  }
  EXPECT_THAT(report.items[2].details, Contains(Pair("depth", d.lbr_depth)));
  EXPECT_EQ(report.kernel, "");
  EXPECT_EQ(report.source, "");
}

constexpr Verdict kYes = Verdict::yes;
constexpr Verdict kNo = Verdict::no;
constexpr const char* kWide = "24 bytes (DTES64 1)";
constexpr const char* kNarrow = "12 bytes (DTES64 0)";
INSTANTIATE_TEST_SUITE_P(
    RealProcessors, Dumps,
    ::testing::Values(Dump{"pentium3-katmai", kNo, kNo, kYes, kNo, "", "1"},
                      Dump{"pentium4-northwood", kNo, kYes, kYes, kYes, kNarrow, "4"},
                      Dump{"pentium4-prescott", kNo, kYes, kYes, kYes, kWide, "16"},
                      Dump{"pentium-m-dothan", kNo, kYes, kYes, kNo, kNarrow, "8"},
                      Dump{"core-duo-yonah", kNo, kYes, kYes, kYes, kNarrow, "8"},
                      Dump{"core2-merom", kNo, kYes, kYes, kYes, kWide, "4"},
                      Dump{"atom-pineview", kNo, kYes, kYes, kYes, kWide, "8"},
                      Dump{"nehalem", kNo, kYes, kYes, kYes, kWide, "16"},
                      Dump{"sandy-bridge", kNo, kYes, kYes, kYes, kWide, "16"},
                      Dump{"haswell", kNo, kYes, kYes, kYes, kWide, "16"},
                      Dump{"broadwell-de", kYes, kYes, kYes, kYes, kWide, "16"},
                      Dump{"skylake", kYes, kYes, kYes, kYes, kWide, "32"},
                      Dump{"goldmont", kYes, kYes, kYes, kYes, kWide, "32"},
                      Dump{"alder-lake", kYes, kYes, kYes, kYes, kWide, "32"},
                      Dump{"sapphire-rapids", kYes, kYes, kYes, kYes, kWide, "32"},
                      Dump{"k8-clawhammer", kNo, kNo, kYes, kNo, "", "1"},
                      Dump{"zen3-vermeer", kNo, kNo, kYes, kNo, "", "1"},
                      Dump{"zen4-raphael", kNo, kNo, kYes, kNo, "", "16"},
                      Dump{"zen5-granite-ridge", kNo, kNo, kYes, kNo, "", "16"},
                      Dump{"meteor-lake", kYes, kYes, kYes, kYes, kWide, "32"}));

// Linux: intel_pmu_init, intel_pmu_lbr_init_core and its younger ones; p4.c and p6.c have none.
TEST(Doctor, KnowsWhoseStacksLinuxReads) {
  const auto details = [](const char* name) {
    return diagnose(gather_dump(hw::processor(name))).items[2].details;
  };
  for (const char* name : {"pentium3-katmai", "pentium4-northwood", "pentium4-prescott",
                           "pentium-m-dothan", "core-duo-yonah", "k8-clawhammer", "zen3-vermeer"}) {
    EXPECT_THAT(details(name), Contains(Pair("sampled by Linux", "no"))) << name;
  }
  for (const char* name :
       {"core2-merom", "atom-pineview", "nehalem", "skylake", "alder-lake", "zen4-raphael"}) {
    EXPECT_THAT(details(name), Contains(Pair("sampled by Linux", "yes"))) << name;
  }
  // intel_pmu_lbr_init_atom: not the first steppings.
  const auto first_atom = hw::processor(
      "atom-pineview",
      "0x00000001 0x00: eax=0x000106c2 ebx=0x00040800 ecx=0x0040e31d edx=0xbfebfbff\n");
  EXPECT_THAT(diagnose(gather_dump(first_atom)).items[2].details,
              Contains(Pair("sampled by Linux", "no")));
}

// Leaf 14H of the dump: EBX 0000000F, ECX 00000007; subleaf 1 EAX 02490002, EBX 003F3FFF.
TEST(Doctor, ListsWhatIntelPtCanDo) {
  const Report report = diagnose(gather_dump(hw::processor("skylake")));
  using D = std::pair<std::string, std::string>;
  EXPECT_THAT(report.items[0].details,
              ::testing::ElementsAre(
                  D{"CR3 filter", "yes"}, D{"address ranges", "2"},
                  D{"output", "ToPA, several regions, single range"}, D{"MTC periods", "0 3 6 9"},
                  D{"CYC thresholds", "0-13"}, D{"PSB periods", "0-5"}, D{"PTWRITE", "no"},
                  D{"power events", "no"}, D{"event trace", "no"}, D{"TNT can be disabled", "no"}));
}

TEST(DoctorText, IsOneScreen) {
  Machine m("skylake");
  m.kernel.refusals = {{Machine::kBts, EBUSY}};
  const std::string text = report_text(m.report(), {.columns = 80});
  EXPECT_LE(std::ranges::count(text, '\n'), 24);
  std::stringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) EXPECT_LE(line.size(), 80) << line;
  EXPECT_THAT(text, ::testing::StartsWith(
                        "processor  Intel(R) Core(TM) i5-6400T CPU @ 2.20GHz (family 6, model 94,\n"
                        "           stepping 3)\n"
                        "hypervisor none\n"
                        "kernel     6.1.0-18-amd64, perf_event_paranoid 2, lockdown none\n"
                        "\n"
                        "Intel PT   yes      CR3 filter: yes, address ranges: 2,"));
  EXPECT_THAT(
      text,
      HasSubstr("\nBTS        no       another user has the hardware\n"
                "                    record: 24 bytes (DTES64 1), by privilege level (DS-CPL):\n"
                "                    yes\n"
                "                    -> end the other recording: ps -e | grep -wE "));
  EXPECT_THAT(text, ::testing::EndsWith("recording  hodo record -- CMD uses Intel PT\n"));
}

TEST(DoctorJson, HasEveryFact) {
  Machine m("haswell");
  m.write("proc/sys/kernel/perf_event_paranoid", "4");
  m.kernel.lbr = EACCES;
  m.steps_branches = std::nullopt;
  const auto json = report_json(m.report());
  EXPECT_EQ(json["source"], "qemu");
  EXPECT_EQ(json["means"]["pt"]["available"], false);
  EXPECT_EQ(json["means"]["pt"]["why"], "this processor has no Intel PT");
  EXPECT_EQ(json["means"]["pt"]["remedy"], "--source dbi records with the software trace unit");
  EXPECT_TRUE(json["means"]["qemu"]["remedy"].is_null());
  EXPECT_EQ(json["means"]["lbr"]["remedy"], "as root: sysctl kernel.perf_event_paranoid=2");
  EXPECT_EQ(json["means"]["lbr"]["details"]["depth"], "16");
  EXPECT_TRUE(json["means"]["btf"]["available"].is_null());
  EXPECT_EQ(json["means"]["qemu"]["available"], true);
}

}  // namespace
}  // namespace hodo::doctor
