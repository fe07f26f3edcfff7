#include "hodo/hw/support.h"

#include <utility>

namespace hodo::hw {
namespace {

constexpr std::uint16_t kFirstPtModel = 0x3d;  // Broadwell
constexpr std::uint16_t kFirstFamily6WithDs = 0x09;

std::string hypervisor(const BranchFeatures& f) {
  return f.hypervisor_name.empty() ? "the hypervisor"
                                   : "the hypervisor (" + f.hypervisor_name + ")";
}

// Under a hypervisor, what the processor might have is hidden; else it is not there.
Support missing(const BranchFeatures& f, const std::string& what, bool may_exist) {
  if (f.hypervisor && may_exist) {
    return {Obstacle::hidden, hypervisor(f) + " does not pass " + what + " on to this machine"};
  }
  return {Obstacle::not_made, "this processor has no " + what};
}

bool is_intel(const BranchFeatures& f) { return f.signature.vendor == Vendor::intel; }
bool is_family6_from(const BranchFeatures& f, std::uint16_t model) {
  return is_intel(f) && f.signature.family == 6 && f.signature.model >= model;
}

// Every Intel processor since the Pentium 4 and Pentium M has a debug store.
Support ds_support(const BranchFeatures& f, const std::string& for_what) {
  if (f.ds) return {};
  const bool made =
      is_family6_from(f, kFirstFamily6WithDs) || (is_intel(f) && f.signature.family >= 0xf);
  Support out = missing(f, "debug store (CPUID.1:EDX.DS)", made);
  out.why += ", which " + for_what + " needs";
  return out;
}

Support switched_off(const BranchFeatures& f, const std::string& what) {
  std::string why = "IA32_MISC_ENABLE says that " + what + " is unavailable";
  why += f.hypervisor ? ", as " + hypervisor(f) + " wants it"
                      : ": switched off by the firmware, or not in this processor";
  return {f.hypervisor ? Obstacle::hidden : Obstacle::switched_off, std::move(why)};
}

}  // namespace

Support pt_support(const BranchFeatures& f) {
  if (f.pt) return {};
  return missing(f, "Intel PT", is_family6_from(f, kFirstPtModel));
}

Support bts_support(const BranchFeatures& f) {
  if (Support ds = ds_support(f, "BTS"); !ds) return ds;
  if (f.bts_unavailable()) return switched_off(f, "BTS");
  return {};
}

Support pebs_support(const BranchFeatures& f) {
  if (Support ds = ds_support(f, "PEBS"); !ds) return ds;
  if (f.pebs_unavailable()) return switched_off(f, "PEBS");
  return {};
}

Support lbr_support(const BranchFeatures& f) {
  if (!f.lbr) {
    if (!is_intel(f)) return missing(f, "last branch records", false);
    return {Obstacle::unknown, "no last branch records are known of Intel family " +
                                   std::to_string(f.signature.family) + " model " +
                                   std::to_string(f.signature.model)};
  }
  // A hypervisor without LBRs for its machines leaves the registers in, or lets them fault. It says
  // so by LBR_FMT 0, or has no IA32_PERF_CAPABILITIES where the real processor has one.
  constexpr std::uint16_t kFirstWithPdcm = 0x0f;
  const bool silent = f.perf_capabilities
                          ? perf_capabilities::kLbrFmt.get(*f.perf_capabilities) == 0
                          : !f.pdcm && is_family6_from(f, kFirstWithPdcm);
  if (f.hypervisor && silent && !f.arch_lbr && !f.amd_lbr_v2) {
    return {Obstacle::hidden,
            hypervisor(f) + " does not pass last branch records on to this machine"};
  }
  return {};
}

Support btf_support(const BranchFeatures& f) {
  if (f.debugctl.btf != 0) return {};
  return missing(f, "branch single-stepping (DEBUGCTL.BTF)", false);
}

}  // namespace hodo::hw
