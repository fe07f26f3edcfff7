// From facts to verdicts. Each function is one line of the report; the first obstacle on the way
// from the processor through the kernel to the user is the one that is named.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "diagnose_processor.h"
#include "hodo/doctor/report.h"

namespace hodo::doctor {
namespace {

using hw::BranchFeatures;

void refuse(Item& item, std::string why, std::string remedy) {
  item.verdict = Verdict::no;
  item.why = std::move(why);
  item.remedy = std::move(remedy);
}

std::string sysctl_paranoid(int level) {
  return fmt::format("as root: sysctl kernel.perf_event_paranoid={}", level);
}

// The kernel refused to open an event, for this errno. `paranoid` is the highest level of
// kernel.perf_event_paranoid at which an ordinary user may open it.
void refuse_event(Item& item, int reason, const KernelFacts& kernel, int paranoid) {
  switch (reason) {
    case EACCES:
    case EPERM:
      if (kernel.perf_event_paranoid.value_or(paranoid) > paranoid) {
        return refuse(item,
                      fmt::format("kernel.perf_event_paranoid is {}, which forbids it to users",
                                  *kernel.perf_event_paranoid),
                      sysctl_paranoid(paranoid));
      }
      return refuse(item, "the kernel does not permit it: a container's seccomp profile, perhaps",
                    "run outside the container, or let it use perf_event_open (docker: --cap-add "
                    "PERFMON --security-opt seccomp=unconfined)");
    case EBUSY:
      return refuse(item, "another user has the hardware",
                    "end the other recording: ps -e | grep -wE 'perf|hodo|gdb'");
    case ENOSYS:
      return refuse(item, "this kernel was built without perf events",
                    "use a kernel with CONFIG_PERF_EVENTS, such as Debian's");
    case EOPNOTSUPP:
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EINVAL:
      return refuse(
          item, fmt::format("the kernel cannot use it on this machine ({})", std::strerror(reason)),
          "sudo dmesg | grep -iE 'perf|pmu' tells what the kernel found" +
              (stand_in(item.key).empty() ? "" : "; until then " + stand_in(item.key)));
    default:
      return refuse(item, std::string("the kernel refuses it: ") + std::strerror(reason), {});
  }
}

constexpr int kUserEvents = 2;     // perf_event_paranoid: users may measure their own user code
constexpr int kKernelVisible = 1;  // and what may leak kernel addresses

void diagnose_pt(Item& item, const Facts& facts) {
  if (item.verdict != Verdict::yes || !facts.kernel) return;
  const KernelFacts& kernel = *facts.kernel;
  if (!kernel.pt_pmu) {
    return refuse(item,
                  facts.features.hypervisor
                      ? "the kernel has no intel_pt PMU: the hypervisor shows Intel PT, but does "
                        "not let it be used"
                      : "the kernel has no intel_pt PMU: it was built without the driver, or found "
                        "Intel PT switched off or in use when it started",
                  "sudo dmesg | grep -iE 'intel_pt|PT is'; --source dbi records with the software "
                  "trace unit");
  }
  if (facts.probes.pt == EBUSY && kernel.kvm_takes_pt) {
    return refuse(item, "another user has the hardware: KVM keeps it for guests (pt_mode=1)",
                  "as root, with no guest running: modprobe -r kvm_intel && modprobe kvm_intel "
                  "pt_mode=0");
  }
  if (facts.probes.pt.value_or(0) != 0) {
    return refuse_event(item, *facts.probes.pt, kernel, kUserEvents);
  }
  item.details.emplace_back("filters for users", fmt::format("{}", kernel.pt_filters));
}

// The processor has BTS, but the kernel no intel_bts PMU (bts_init in its
// arch/x86/events/intel/bts.c).
void refuse_bts_pmu(Item& item, const Facts& facts) {
  if (!facts.features.dtes64) {
    return refuse(item,
                  "the kernel takes 64-bit BTS records only, which this processor does not write",
                  stand_in(item.key));
  }
  if (facts.kernel->pti) {
    return refuse(item,
                  "the kernel's intel_bts driver does not go with page table isolation (PTI), "
                  "which keeps Meltdown out",
                  fmt::format("{}; or start the kernel with nopti, if no program here may do harm: "
                              "each can read all memory then",
                              stand_in(item.key)));
  }
  return refuse(item,
                "the kernel has no intel_bts PMU: it was built without the driver, or "
                "IA32_MISC_ENABLE says that BTS is unavailable",
                fmt::format("sudo dmesg | grep -iE 'bts|pmu'; look in the firmware's set-up, too; "
                            "until then {}",
                            stand_in(item.key)));
}

void diagnose_bts(Item& item, const Facts& facts) {
  if (item.verdict != Verdict::yes || !facts.kernel) return;
  if (!facts.kernel->bts_pmu) return refuse_bts_pmu(item, facts);
  // The driver leaks addresses of kernel code that a branch leads to (kernel:
  // arch/x86/events/intel/bts.c, bts_event_init).
  if (facts.probes.bts.value_or(0) != 0) {
    refuse_event(item, *facts.probes.bts, *facts.kernel, kKernelVisible);
  }
}

// Sampling with the core's PMU.
void diagnose_sampling(Item& item, const Facts& facts, std::optional<int> probe) {
  if (item.verdict == Verdict::no || !facts.kernel) return;
  if (probe == 0) {
    // The kernel knows better than tables.
    item.verdict = Verdict::yes;
    item.why.clear();
    item.remedy.clear();
    return;
  }
  if (!facts.kernel->core_pmu) {
    const bool amd = facts.features.signature.vendor == hw::Vendor::amd;
    return refuse(item, "the kernel has no PMU of the core (cpu, cpu_core)",
                  !facts.features.hypervisor ? "sudo dmesg | grep -iE 'perf|pmu' tells why"
                  : amd                      ? stand_in(item.key)
                                             : virtual_pmu_remedy(item.key));
  }
  if (probe) refuse_event(item, *probe, *facts.kernel, kUserEvents);
}

Item btf_item(const Facts& facts) {
  Item item = processor_item("BTF", "btf", facts.features, hw::btf_support(facts.features));
  if (item.verdict != Verdict::yes) return item;
  if (!facts.kernel) {
    if (!facts.features.hypervisor) return item;
    item.verdict = Verdict::unknown;
    item.why = "hypervisors may ignore it; hodo doctor tries, in the virtual machine";
    return item;
  }
  if (facts.steps_branches == false) {
    refuse(item,
           facts.features.hypervisor ? "the hypervisor ignores it: PTRACE_SINGLEBLOCK stops at "
                                       "every instruction"
                                     : "PTRACE_SINGLEBLOCK stops at every instruction",
           "stepping works all the same, one instruction at a time, and slower");
  } else if (!facts.steps_branches) {
    item.verdict = Verdict::unknown;
    item.why = "it could not be tried: ptrace is not permitted here";
    item.remedy = "as root: sysctl kernel.yama.ptrace_scope=1";
  }
  return item;
}

// An error that may end in a remedy.
void refuse_by(Item& item, const Error& error) {
  constexpr std::string_view kRemedy = "; remedy: ";
  const std::string& message = error.message;
  const std::size_t at = message.find(kRemedy);
  refuse(item, message.substr(0, at),
         at == message.npos ? std::string() : message.substr(at + kRemedy.size()));
}

Item engine_item(const Result<std::string>& engine, bool ptrace) {
  Item item{.name = "engine", .key = "dbi"};
  if (!engine) {
    refuse_by(item, engine.error());
  } else if (!ptrace) {
    refuse(item, "ptrace is not permitted here, which puts it into programs",
           "as root: sysctl kernel.yama.ptrace_scope=1; in a container, allow ptrace");
  } else {
    item.verdict = Verdict::yes;
    item.details = {{"file", *engine}, {"32-bit programs", "no"}};
  }
  return item;
}

Item qemu_item(const Result<capture::QemuInstallation>& qemu) {
  Item item{.name = "QEMU", .key = "qemu"};
  if (qemu) {
    item.verdict = Verdict::yes;
    item.details = {{"emulator", qemu->qemu64},
                    {"plugin", qemu->plugin},
                    {"32-bit programs", qemu->qemu32.empty() ? "no" : "yes"}};
    return item;
  }
  refuse_by(item, qemu.error());
  return item;
}

// Registers as root, which only some details need.
Item registers_item(const Facts& facts) {
  Item item{.name = "registers", .key = "registers", .verdict = Verdict::yes};
  if (!facts.no_msrs.empty()) {
    const std::size_t semicolon = facts.no_msrs.find("; ");
    refuse(item, facts.no_msrs.substr(0, semicolon),
           semicolon == std::string::npos ? std::string() : facts.no_msrs.substr(semicolon + 2));
  } else if (facts.kernel->lockdown == "integrity" || facts.kernel->lockdown == "confidentiality") {
    item.why = "the kernel is locked down (" + facts.kernel->lockdown +
               "): they can be read, but not written";
    item.remedy = "start the kernel without lockdown (Secure Boot switches it on)";
  }
  return item;
}

// Ring memory for traces, where something could fill it.
Item memory_item(const KernelFacts& kernel) {
  constexpr std::uint64_t kComfortable = 4096 + 516;  // the recorder's buffers for a processor
  Item item{.name = "buffers", .key = "buffers", .verdict = Verdict::yes};
  if (kernel.privileged || kernel.perf_event_paranoid.value_or(kUserEvents) < 0) return item;
  const std::uint64_t kib = kernel.mlock_kb.value_or(516);
  item.details = {{"kernel.perf_event_mlock_kb", fmt::format("{}", kib)}};
  if (kib < kComfortable) {
    item.why = fmt::format(
        "users get {} KiB for each processor, and beyond that what ulimit -l allows: long "
        "recordings may lose data",
        kib);
    item.remedy = fmt::format("as root: sysctl kernel.perf_event_mlock_kb={}", 2 * kComfortable);
  }
  return item;
}

std::string kernel_line(const KernelFacts& kernel) {
  std::string out = kernel.release.empty() ? "unknown" : kernel.release;
  if (kernel.perf_event_paranoid) {
    out += fmt::format(", perf_event_paranoid {}", *kernel.perf_event_paranoid);
  }
  if (!kernel.lockdown.empty()) out += ", lockdown " + kernel.lockdown;
  return out + (kernel.privileged ? ", privileged" : "");
}

bool has(const Report& report, std::string_view key) {
  for (const Item& item : report.items) {
    if (item.key == key) return item.verdict == Verdict::yes;
  }
  return false;
}

std::vector<std::string> sources_without_qemu(const Report& report, const Facts& facts) {
  std::vector<std::string> out;
  for (const char* key : {"pt", "bts", "lbr", "dbi"}) {
    if (has(report, key)) out.emplace_back(key);
  }
  // Steps were tried, of whatever kind.
  if (facts.steps_branches) out.emplace_back("step");
  return out;
}

}  // namespace

Report diagnose(const Facts& facts) {
  const BranchFeatures& f = facts.features;
  Report out{.processor = processor_line(f), .hypervisor = hypervisor_line(f)};
  if (facts.kernel) out.kernel = kernel_line(*facts.kernel);

  Item pt = processor_item("Intel PT", "pt", f, hw::pt_support(f));
  pt.details = pt_details(f);
  diagnose_pt(pt, facts);
  Item bts = processor_item("BTS", "bts", f, hw::bts_support(f));
  bts.details = bts_details(f);
  diagnose_bts(bts, facts);
  Item lbr = processor_item("LBR", "lbr", f, hw::lbr_support(f));
  lbr.details = lbr_details(f);
  diagnose_sampling(lbr, facts, facts.probes.lbr);
  Item pebs = processor_item("PEBS", "pebs", f, hw::pebs_support(f));
  pebs.details = pebs_details(f);
  diagnose_sampling(pebs, facts, facts.probes.pebs);
  const bool hardware = pt.verdict == Verdict::yes || bts.verdict == Verdict::yes;

  out.items = {std::move(pt), std::move(bts), std::move(lbr), std::move(pebs), btf_item(facts)};
  if (facts.engine) {
    out.items.push_back(engine_item(*facts.engine, facts.steps_branches.has_value()));
  }
  if (facts.qemu) out.items.push_back(qemu_item(*facts.qemu));
  if (facts.kernel) {
    out.items.push_back(registers_item(facts));
    if (hardware) out.items.push_back(memory_item(*facts.kernel));
    out.without_qemu = sources_without_qemu(out, facts);
    out.source = has(out, "pt")         ? "pt"
                 : has(out, "dbi")      ? "dbi"
                 : has(out, "qemu")     ? "qemu"
                 : facts.steps_branches ? "step"
                                        : "";
  }
  return out;
}

}  // namespace hodo::doctor
