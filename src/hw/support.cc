#include "hodo/hw/support.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hodo::hw {
namespace {

constexpr std::uint16_t kFirstFamily6WithDs = 0x09;

std::string hypervisor(const BranchFeatures& f) {
  return f.hypervisor_name.empty() ? "the hypervisor"
                                   : "the hypervisor (" + f.hypervisor_name + ")";
}

Support hidden(const BranchFeatures& f, const std::string& what) {
  return {Obstacle::hidden, hypervisor(f) + " hides " + what + " from this machine"};
}
Support not_made(const std::string& what) {
  return {Obstacle::not_made, "this processor has no " + what};
}

bool is_intel(const BranchFeatures& f) { return f.signature.vendor == Vendor::intel; }
bool is_family6_from(const BranchFeatures& f, std::uint16_t model) {
  return is_p6_or_later(f.signature) && (f.signature.family != 6 || f.signature.model >= model);
}

// The generations with LbrExtV2 (Linux, bsp_init_amd in arch/x86/kernel/cpu/amd.c).
bool is_zen4_or_later(const BranchFeatures& f) {
  constexpr std::uint16_t kZen3And4 = 0x19;
  const auto [vendor, family, model, stepping] = f.signature;
  if (vendor != Vendor::amd || family < kZen3And4) return false;
  return family > kZen3And4 || (model >= 0x10 && model <= 0x1f) || model >= 0x60;
}

// Every Intel processor since the Pentium 4 and Pentium M has a debug store.
Support ds_support(const BranchFeatures& f, const std::string& for_what) {
  if (f.ds) return {};
  const bool made =
      is_family6_from(f, kFirstFamily6WithDs) || (is_intel(f) && f.signature.family >= 0xf);
  Support out = f.hypervisor && made ? hidden(f, "the debug store (CPUID.1:EDX.DS)")
                                     : not_made("debug store (CPUID.1:EDX.DS)");
  out.why += ", which " + for_what + " needs";
  return out;
}

Support switched_off(const BranchFeatures& f, const std::string& what) {
  std::string why = "IA32_MISC_ENABLE says that " + what + " is unavailable";
  why += f.hypervisor ? ", as " + hypervisor(f) + " wants it"
                      : ": switched off by the firmware, or not in this processor";
  return {f.hypervisor ? Obstacle::hidden : Obstacle::switched_off, std::move(why)};
}

// Broadwell, and everything from Skylake and Goldmont on, but no Xeon Phi.
bool is_of_pt_generation(const BranchFeatures& f) {
  constexpr std::uint16_t kBroadwell[] = {0x3d, 0x47, 0x4f, 0x56};
  constexpr std::uint16_t kXeonPhi[] = {0x57, 0x85};
  const std::uint16_t model = f.signature.model;
  if (!is_family6_from(f, kBroadwell[0])) return false;
  if (f.signature.family != 6) return true;
  if (std::ranges::find(kXeonPhi, model) != std::end(kXeonPhi)) return false;
  if (std::ranges::find(kBroadwell, model) != std::end(kBroadwell)) return true;
  const auto layout = lbr_layout(f.signature);
  return !layout || layout->depth == 32;
}

}  // namespace

Support pt_support(const BranchFeatures& f) {
  if (f.pt) return {};
  const bool made = is_of_pt_generation(f);
  if (made && !f.hypervisor) {
    return {
        Obstacle::switched_off,
        "processors of this generation have Intel PT, but this one does not show it: the firmware "
        "may have switched it off, or the maker (in some cheap models)"};
  }
  return made ? hidden(f, "Intel PT") : not_made("Intel PT");
}

Support bts_support(const BranchFeatures& f) {
  if (Support ds = ds_support(f, "BTS"); !ds) return ds;
  if (f.bts_unavailable()) return switched_off(f, "BTS");
  return {};
}

Support pebs_support(const BranchFeatures& f) {
  if (Support ds = ds_support(f, "PEBS"); !ds) return ds;
  // SDM vol. 4, IA32_MISC_ENABLE of the Pentium M, bit 12.
  constexpr std::uint16_t kBanias = 0x09;
  constexpr std::uint16_t kDothan = 0x0d;
  const auto [vendor, family, model, stepping] = f.signature;
  if (family == 6 && (model == kBanias || model == kDothan)) return not_made("PEBS");
  if (f.pebs_unavailable()) return switched_off(f, "PEBS");
  return {};
}

Support lbr_support(const BranchFeatures& f) {
  if (!f.lbr) {
    if (f.amd_lbr_v2) {
      return {Obstacle::unknown,
              "CPUID.80000022H says that there are last branch records, but none deep"};
    }
    if (!is_intel(f)) return not_made("last branch records");
    // Of family 6 the table lacks only what is so new that its records are architectural.
    if (f.hypervisor && is_family6_from(f, 0)) return hidden(f, "last branch records");
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
    return hidden(f, "last branch records");
  }
  // AMD's single pair is there on all.
  if (f.hypervisor && is_zen4_or_later(f) && !f.amd_lbr_v2) {
    return hidden(f, "last branch records (LbrExtV2)");
  }
  return {};
}

Support btf_support(const BranchFeatures& f) {
  if (f.debugctl.btf != 0) return {};
  return not_made("branch single-stepping (DEBUGCTL.BTF)");
}

}  // namespace hodo::hw
