// What a processor can record, from CPUID and the registers that enumerate the rest (SDM vol. 2,
// "CPUID"; vol. 3, "Last Branch Records" and "Branch Trace Store"; AMD APM vol. 3, Fn8000_0022).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hodo/hw/cpuid.h"
#include "hodo/hw/debugctl.h"
#include "hodo/hw/ds_area.h"
#include "hodo/hw/intel_pt.h"
#include "hodo/hw/lbr.h"
#include "hodo/hw/msr.h"

namespace hodo::hw {

struct BranchFeatures {
  Signature signature;
  std::string brand;            // "Intel(R) Core(TM) i7-6700K CPU @ 4.00GHz"; "" if it has none
  bool hypervisor = false;      // CPUID.1:ECX[31]
  std::string hypervisor_name;  // by leaf 40000000H: "KVM", or what that spells

  bool msr = false;     // has model-specific registers at all
  bool ds = false;      // DS area: BTS, PEBS
  bool dtes64 = false;  // its 64-bit layout
  bool ds_cpl = false;  // BTS_OFF_OS and BTS_OFF_USR
  bool pdcm = false;    // IA32_PERF_CAPABILITIES
  bool rtm = false;
  unsigned perfmon_version = 0;  // CPUID.0AH; 2: LBRs can freeze on an interrupt
  bool arch_lbr = false;
  unsigned arch_lbr_depths = 0;  // bit n: a depth of 8 * (n + 1) is possible
  bool amd_lbr_v2 = false;
  bool amd_brs = false;         // branch sampling, Zen 3 only
  bool amd_perfmon_v2 = false;  // global status and control of counters
  bool amd_freeze = false;      // LBRs and counters can freeze on an interrupt
  std::optional<PtCapabilities> pt;

  // As the registers say; nullopt where they could not be read.
  std::optional<std::uint64_t> misc_enable;
  std::optional<std::uint64_t> perf_capabilities;

  std::optional<LbrLayout> lbr;
  DebugctlLayout debugctl;

  DsLayout ds_layout() const { return dtes64 ? DsLayout::bits64 : DsLayout::bits32; }
  // IA32_MISC_ENABLE says that it is off; false also if that is not known.
  bool bts_unavailable() const { return misc_bit(misc_enable::kBtsUnavailable); }
  bool pebs_unavailable() const { return misc_bit(misc_enable::kPebsUnavailable); }
  // The PEBS record format; nullopt if there is none or it is not known.
  std::optional<unsigned> pebs_format() const;

 private:
  bool misc_bit(std::uint64_t bit) const { return misc_enable && (*misc_enable & bit) != 0; }
};

// `msrs`, if not null, is asked for IA32_MISC_ENABLE and IA32_PERF_CAPABILITIES where CPUID says
// that they are there; what cannot be read is left out.
BranchFeatures find_branch_features(const Cpuid& cpuid, MsrBus* msrs = nullptr);

}  // namespace hodo::hw
