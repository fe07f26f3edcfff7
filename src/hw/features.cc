#include "hodo/hw/features.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

namespace hodo::hw {
namespace {

constexpr bool bit(std::uint32_t reg, unsigned n) { return (reg >> n & 1) != 0; }

// Registers as the text that they spell, up to the first zero byte.
template <class... Registers>
std::string text(Registers... registers) {
  const std::uint32_t words[] = {registers...};
  char bytes[sizeof(words) + 1] = {};
  std::memcpy(bytes, words, sizeof(words));
  return bytes;
}

Vendor vendor(const CpuidRegs& leaf0) {
  const std::string name = text(leaf0.ebx, leaf0.edx, leaf0.ecx);
  if (name == "GenuineIntel") return Vendor::intel;
  // Hygon's processors are AMD's design.
  if (name == "AuthenticAMD" || name == "HygonGenuine") return Vendor::amd;
  return Vendor::other;
}

std::string brand(const Cpuid& cpuid) {
  std::string out;
  if (cpuid.leaf(0x80000000).eax < 0x80000004) return out;
  for (std::uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    const CpuidRegs r = cpuid.leaf(leaf);
    out += text(r.eax, r.ebx, r.ecx, r.edx);
  }
  const std::size_t first = out.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return out.substr(first, out.find_last_not_of(' ') - first + 1);
}

// What leaf 40000000H spells, by the name that people know.
std::string hypervisor_name(const std::string& sign) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"KVMKVMKVM", "KVM"},      {"VMwareVMware", "VMware"},     {"Microsoft Hv", "Hyper-V"},
      {"XenVMMXenVMM", "Xen"},   {"VBoxVBoxVBox", "VirtualBox"}, {"TCGTCGTCGTCG", "QEMU's TCG"},
      {"bhyve bhyve ", "bhyve"},
  };
  for (const auto& [known, name] : kNames) {
    if (sign == known) return std::string(name);
  }
  return sign;
}

std::optional<std::uint64_t> read(MsrBus* msrs, std::uint32_t number) {
  if (msrs == nullptr) return std::nullopt;
  const auto value = msrs->read_msr(number);
  if (!value) return std::nullopt;
  return *value;
}

void find_intel(BranchFeatures& out, const Cpuid& cpuid, std::uint32_t max_leaf) {
  const CpuidRegs leaf1 = cpuid.leaf(1);
  out.ds = bit(leaf1.edx, 21);
  out.dtes64 = bit(leaf1.ecx, 2);
  out.ds_cpl = bit(leaf1.ecx, 4);
  out.pdcm = bit(leaf1.ecx, 15);
  if (max_leaf >= 0xa) out.perfmon_version = cpuid.leaf(0xa).eax & 0xff;
  if (max_leaf < 7) return;
  const CpuidRegs leaf7 = cpuid.leaf(7);
  out.rtm = bit(leaf7.ebx, 11);
  if (bit(leaf7.ebx, 25) && max_leaf >= 0x14) {
    out.pt = decode_pt_cpuid(cpuid.leaf(0x14, 0), cpuid.leaf(0x14, 1));
  }
  if (!bit(leaf7.edx, 19) || max_leaf < 0x1c) return;
  out.arch_lbr_depths = cpuid.leaf(0x1c).eax & 0xff;
  out.arch_lbr = out.arch_lbr_depths != 0;
}

void find_amd(BranchFeatures& out, const Cpuid& cpuid) {
  const std::uint32_t max_leaf = cpuid.leaf(0x80000000).eax;
  if (max_leaf >= 0x80000008) out.amd_brs = bit(cpuid.leaf(0x80000008).ebx, 31);
  if (max_leaf < 0x80000022) return;
  const std::uint32_t eax = cpuid.leaf(0x80000022).eax;
  out.amd_perfmon_v2 = bit(eax, 0);
  out.amd_lbr_v2 = bit(eax, 1);
  out.amd_freeze = bit(eax, 2);
}

std::optional<LbrLayout> find_lbr(const BranchFeatures& f, const Cpuid& cpuid) {
  if (f.arch_lbr) {
    const bool call_stack = bit(cpuid.leaf(0x1c).ebx, 2);
    return arch_lbr_layout(8 * static_cast<unsigned>(std::bit_width(f.arch_lbr_depths)),
                           call_stack);
  }
  if (f.amd_lbr_v2) {
    constexpr Field kStackSize{4, 6};
    const auto depth = static_cast<unsigned>(kStackSize.get(cpuid.leaf(0x80000022).ebx));
    if (depth == 0) return std::nullopt;
    return amd_lbr_layout(depth);
  }
  auto layout = lbr_layout(f.signature);
  if (!layout || !f.perf_capabilities || layout->packed) return layout;
  const auto format =
      lbr_format(static_cast<unsigned>(perf_capabilities::kLbrFmt.get(*f.perf_capabilities)));
  // 0 is also what a virtual machine says that has the register but no LBR.
  if (!format || *format == LbrFormat::arch || *format == LbrFormat::bits32) return layout;
  // Knights Landing says less than it does (Linux, intel_pmu_lbr_init_knl).
  if (*format == LbrFormat::lip && layout->format == LbrFormat::eip_flags) return layout;
  layout->format = *format;
  const bool has_info = *format == LbrFormat::info || *format == LbrFormat::info2;
  layout->info = has_info ? msr::kLbrInfo : 0;
  return layout;
}

constexpr std::uint64_t kPinControl = 0x3c;  // PB0 to PB3 of P6 processors, Pentium M and AMD

DebugctlLayout netburst_debugctl(const BranchFeatures& f) {
  DebugctlLayout out{.lbr = 1 << 0, .btf = 1 << 1, .tr = 1 << 2, .bts = 1 << 3, .btint = 1 << 4};
  if (!f.ds_cpl) return out;
  out.bts_off_os = 1 << 5;
  out.bts_off_usr = 1 << 6;
  return out;
}

DebugctlLayout amd_debugctl(const BranchFeatures& f) {
  DebugctlLayout out{.lbr = debugctl::kLbr, .btf = debugctl::kBtf, .others = kPinControl};
  if (!f.amd_freeze) return out;
  out.freeze_lbrs_on_pmi = debugctl::kFreezeLbrsOnPmi;
  out.freeze_perfmon_on_pmi = debugctl::kFreezePerfmonOnPmi;
  return out;
}

// ENABLE_UNCORE_PMI came with Nehalem, 06_1AH (SDM vol. 4, IA32_DEBUGCTL): Merom, Penryn and
// Dunnington do not have it, although they freeze.
bool has_uncore_pmi(const BranchFeatures& f) {
  constexpr std::uint16_t kCore2[] = {0x0f, 0x16, 0x17, 0x1d};
  const bool core2 =
      f.signature.family == 6 && std::ranges::find(kCore2, f.signature.model) != std::end(kCore2);
  return f.perfmon_version >= 2 && !core2;
}

DebugctlLayout intel_debugctl(const BranchFeatures& f, const Cpuid& cpuid) {
  DebugctlLayout out{.lbr = debugctl::kLbr, .btf = debugctl::kBtf, .tr = debugctl::kTr};
  if (f.ds) {
    out.bts = debugctl::kBts;
    out.btint = debugctl::kBtint;
  }
  if (f.ds && f.ds_cpl) {
    out.bts_off_os = debugctl::kBtsOffOs;
    out.bts_off_usr = debugctl::kBtsOffUsr;
  }
  constexpr unsigned kYonah = 0x0e;
  if (f.signature.family == 6 && f.signature.model < kYonah) out.others |= kPinControl;
  if (f.perfmon_version >= 2) {
    out.freeze_lbrs_on_pmi = debugctl::kFreezeLbrsOnPmi;
    out.freeze_perfmon_on_pmi = debugctl::kFreezePerfmonOnPmi;
  }
  if (has_uncore_pmi(f)) out.others |= debugctl::kUncorePmiEn;
  if (!f.perf_capabilities || (*f.perf_capabilities & perf_capabilities::kFreezeWhileSmm)) {
    if (f.pdcm) out.others |= debugctl::kFreezeWhileSmm;
  }
  if (f.rtm) out.others |= debugctl::kRtmDebug;
  if (bit(cpuid.leaf(7).ecx, 24)) out.others |= debugctl::kBld;
  // Processors without model-specific LBRs discard writes to the bit (Xen, commit e904d8ae01a0,
  // citing the architectural LBR specification).
  if (f.arch_lbr && !lbr_layout(f.signature)) {
    out.ignored = out.lbr;
    out.lbr = 0;
  }
  return out;
}

DebugctlLayout find_debugctl(const BranchFeatures& f, const Cpuid& cpuid) {
  if (f.signature.vendor == Vendor::amd) return amd_debugctl(f);
  if (f.signature.vendor != Vendor::intel) return {};
  if (f.signature.family == 0xf) return netburst_debugctl(f);
  if (is_p6_or_later(f.signature)) return intel_debugctl(f, cpuid);
  return {};
}

}  // namespace

std::optional<unsigned> BranchFeatures::pebs_format() const {
  if (!ds || !perf_capabilities) return std::nullopt;
  return static_cast<unsigned>(perf_capabilities::kPebsFmt.get(*perf_capabilities));
}

BranchFeatures find_branch_features(const Cpuid& cpuid, MsrBus* msrs) {
  BranchFeatures out;
  const CpuidRegs leaf0 = cpuid.leaf(0);
  const CpuidRegs leaf1 = cpuid.leaf(1);
  out.signature = decode_signature(vendor(leaf0), leaf1.eax);
  out.brand = brand(cpuid);
  out.msr = bit(leaf1.edx, 5);
  out.hypervisor = bit(leaf1.ecx, 31);
  if (out.hypervisor) {
    const CpuidRegs r = cpuid.leaf(0x40000000);
    out.hypervisor_name = hypervisor_name(text(r.ebx, r.ecx, r.edx));
  }
  if (out.signature.vendor == Vendor::intel) {
    find_intel(out, cpuid, leaf0.eax);
    out.misc_enable = read(msrs, msr::kMiscEnable);
    if (out.pdcm) out.perf_capabilities = read(msrs, msr::kPerfCapabilities);
  } else if (out.signature.vendor == Vendor::amd) {
    find_amd(out, cpuid);
  }
  out.lbr = find_lbr(out, cpuid);
  out.debugctl = find_debugctl(out, cpuid);
  return out;
}

}  // namespace hodo::hw
