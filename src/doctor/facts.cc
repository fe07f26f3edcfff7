#include "hodo/doctor/facts.h"

#include "kernel_facts.h"
#include "probe.h"

namespace hodo::doctor {

Facts gather(const System& system) {
  Facts out;
  out.features = hw::find_branch_features(*system.cpuid, system.msrs);
  if (system.msrs == nullptr) out.no_msrs = system.no_msrs;
  out.kernel = read_kernel_facts(system.root, system.privileged);
  if (system.kernel != nullptr) {
    out.probes = probe_events(*system.kernel, paths_below(system.root));
  }
  if (system.find_qemu) out.qemu = system.find_qemu();
  if (system.find_engine) out.engine = system.find_engine();
  if (system.steps_branches) out.steps_branches = system.steps_branches();
  return out;
}

Facts gather_dump(const hw::Cpuid& cpuid) {
  Facts out;
  out.features = hw::find_branch_features(cpuid);
  out.no_msrs = "a CPUID dump has no registers";
  return out;
}

}  // namespace hodo::doctor
