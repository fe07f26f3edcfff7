// What is known about a machine's means of recording branches, before anyone draws conclusions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "hodo/base/result.h"
#include "hodo/capture/kernel.h"
#include "hodo/capture/qemu_source.h"
#include "hodo/hw/cpuid.h"
#include "hodo/hw/features.h"
#include "hodo/hw/msr.h"

namespace hodo::doctor {

// Where facts come from. Tests put a made-up machine here.
struct System {
  const hw::Cpuid* cpuid = nullptr;
  hw::MsrBus* msrs = nullptr;         // may be null
  std::string no_msrs;                // why it is; a sentence with the remedy
  std::string root;                   // stands before /proc and /sys
  capture::Kernel* kernel = nullptr;  // what opens events to try them; null: nothing is tried
  bool privileged = false;            // CAP_PERFMON or CAP_SYS_ADMIN
  std::function<Result<capture::QemuInstallation>()> find_qemu;
  std::function<Result<std::string>()> find_engine;
  std::function<std::optional<bool>()> steps_branches;  // is BTF honoured? nullopt: cannot tell
};

// An event of each kind was opened, and closed again: 0, or the errno; nullopt: not tried.
struct Probes {
  std::optional<int> pt;
  std::optional<int> bts;
  std::optional<int> lbr;
  std::optional<int> pebs;
};

struct KernelFacts {
  std::string release;
  std::optional<int> perf_event_paranoid;
  std::optional<std::uint64_t> mlock_kb;  // ring memory of a processor that any user may lock
  std::string lockdown;                   // "none", "integrity", "confidentiality"; "": unknown
  bool pt_pmu = false;
  bool bts_pmu = false;
  bool pti = false;           // page table isolation, against Meltdown
  bool core_pmu = false;      // counts and samples: "cpu", or "cpu_core" on hybrid processors
  bool kvm_takes_pt = false;  // kvm_intel.pt_mode=1
  unsigned pt_filters = 0;    // address ranges that a user may set
  bool privileged = false;
};

struct Facts {
  hw::BranchFeatures features;
  std::string no_msrs;  // "": registers could be read
  // Nothing of the following is known of a machine that is here only as a CPUID dump.
  std::optional<KernelFacts> kernel;
  Probes probes;
  std::optional<Result<capture::QemuInstallation>> qemu;
  std::optional<Result<std::string>> engine;  // its file
  std::optional<bool> steps_branches;
};

// Everything about a machine. Changes nothing there.
Facts gather(const System& system);
// What the processor of a dump says about itself.
Facts gather_dump(const hw::Cpuid& cpuid);

}  // namespace hodo::doctor
