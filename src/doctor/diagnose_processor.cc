#include "diagnose_processor.h"

#include <fmt/format.h>

#include <utility>

#include "hodo/view/text.h"

namespace hodo::doctor {
namespace {

const char* yes_no(bool value) { return value ? "yes" : "no"; }

// The numbers of the set bits: "0 3 6-9"; "none".
std::string ranges(std::uint32_t mask) {
  std::string out;
  for (unsigned n = 0; n < 32; ++n) {
    if ((mask >> n & 1) == 0) continue;
    const unsigned first = n;
    while (n < 31 && (mask >> (n + 1) & 1) != 0) ++n;
    if (!out.empty()) out += ' ';
    out += n > first ? fmt::format("{}-{}", first, n) : fmt::format("{}", n);
  }
  return out.empty() ? "none" : out;
}

// Could a hypervisor's PMU for its machines have it? KVM's has PEBS and the LBRs of the models that
// hw has in its table, but no architectural ones, and of AMD's only counters (__do_cpuid_func).
bool in_virtual_pmu(const std::string& key, const hw::BranchFeatures& f) {
  if (f.signature.vendor == hw::Vendor::amd) return false;
  return key == "pebs" || (key == "lbr" && f.lbr);
}

// What helps against an obstacle of the processor's.
std::string remedy_of(hw::Obstacle obstacle, const std::string& key, const hw::BranchFeatures& f) {
  std::string stand_in = doctor::stand_in(key);
  switch (obstacle) {
    case hw::Obstacle::hidden:
      return in_virtual_pmu(key, f) ? virtual_pmu_remedy(key)
                                    : "run hodo on its host; here, " + stand_in;
    case hw::Obstacle::switched_off:
      return "look for it in the firmware's set-up (\"Intel Processor Trace\", \"Debug\", "
             "\"Performance Monitoring\")" +
             (stand_in.empty() ? "" : "; until then " + stand_in);
    case hw::Obstacle::not_made:
    case hw::Obstacle::unknown:
      return stand_in;
    case hw::Obstacle::none:
      return {};
  }
  return {};
}

// Linux has drivers from Core on (intel_pmu_init, amd_pmu_init), which were the first with a TOS of
// that number and both addresses in registers of their own. It leaves the first Atoms alone, whose
// stack does not freeze (intel_pmu_lbr_init_atom).
bool linux_samples(const hw::BranchFeatures& f) {
  if (f.arch_lbr || f.amd_lbr_v2 || f.amd_brs) return true;
  constexpr unsigned kBonnell = 0x1c;
  if (f.signature.model == kBonnell && f.signature.stepping < 10) return false;
  return f.lbr->tos == hw::msr::kLbrTos && !f.lbr->packed;
}

}  // namespace

std::string stand_in(const std::string& key) {
  if (key == "pt") return "--source dbi records with the software trace unit";
  if (key != "bts" && key != "lbr") return {};
  return "--source " + key + " records with the software trace unit";
}

std::string virtual_pmu_remedy(const std::string& key) {
  const std::string stand_in = doctor::stand_in(key);
  return "give the virtual machine a virtual PMU (libvirt: <cpu mode='host-passthrough'/> and "
         "<pmu state='on'/>; qemu: -cpu host,pmu=on)" +
         (stand_in.empty() ? "" : "; here, " + stand_in);
}

Item processor_item(std::string name, std::string key, const hw::BranchFeatures& f,
                    const hw::Support& support) {
  Item out;
  out.name = std::move(name);
  out.verdict = support                                     ? Verdict::yes
                : support.obstacle == hw::Obstacle::unknown ? Verdict::unknown
                                                            : Verdict::no;
  out.why = support.why;
  out.remedy = remedy_of(support.obstacle, key, f);
  out.key = std::move(key);
  return out;
}

Details pt_details(const hw::BranchFeatures& f) {
  if (!f.pt) return {};
  const hw::PtCapabilities& pt = *f.pt;
  const char* output = pt.topa_multiple ? "ToPA, several regions" : "ToPA, one region";
  return {{"CR3 filter", yes_no(pt.cr3_filter)},
          {"address ranges", fmt::format("{}", pt.ip_filter ? pt.addr_ranges : 0)},
          {"output", fmt::format("{}{}", pt.topa ? output : "none to memory",
                                 pt.single_range ? ", single range" : "")},
          {"MTC periods", pt.mtc ? ranges(pt.mtc_periods) : "none"},
          {"CYC thresholds", pt.cyc ? ranges(pt.cyc_thresholds) : "none"},
          {"PSB periods", pt.cyc ? ranges(pt.psb_periods) : "none"},
          {"PTWRITE", yes_no(pt.ptwrite)},
          {"power events", yes_no(pt.power_events)},
          {"event trace", yes_no(pt.event_trace)},
          {"TNT can be disabled", yes_no(pt.disable_tnt)}};
}

Details bts_details(const hw::BranchFeatures& f) {
  if (!f.ds) return {};
  return {{"record", fmt::format("{} bytes (DTES64 {})", hw::bts_record_bytes(f.ds_layout()),
                                 f.dtes64 ? 1 : 0)},
          {"by privilege level (DS-CPL)", yes_no(f.ds_cpl)}};
}

Details lbr_details(const hw::BranchFeatures& f) {
  if (!f.lbr) return {};
  // Linux: amd_brs_detect and amd_brs_setup_filter (arch/x86/events/amd/brs.c).
  if (f.amd_brs) {
    return {{"depth", "16"}, {"kind", "AMD BRS"}, {"sampled by Linux", "yes"}, {"filter", "no"}};
  }
  const hw::LbrLayout& lbr = *f.lbr;
  std::string kind = "model-specific";
  if (f.arch_lbr) kind = "architectural";
  if (f.signature.vendor == hw::Vendor::amd) kind = f.amd_lbr_v2 ? "AMD LbrExtV2" : "AMD, one pair";
  return {{"depth", fmt::format("{}", lbr.depth)},
          {"format", std::string(name(lbr.format))},
          {"kind", kind},
          {"sampled by Linux", yes_no(linux_samples(f))},
          {"filter", yes_no(lbr.select != 0)},
          {"call-stack mode", yes_no(lbr.call_stack)}};
}

Details pebs_details(const hw::BranchFeatures& f) {
  const auto format = f.pebs_format();
  if (!format) return {};
  return {{"format", fmt::format("{}{}", *format, *format >= 4 ? ", adaptive" : "")}};
}

std::string processor_line(const hw::BranchFeatures& f) {
  const hw::Signature& s = f.signature;
  const char* vendors[] = {"Intel", "AMD", "unknown maker"};
  return fmt::format(
      "{} (family {}, model {}, stepping {})",
      f.brand.empty() ? vendors[static_cast<unsigned>(s.vendor)] : view::printable(f.brand),
      s.family, s.model, s.stepping);
}

std::string hypervisor_line(const hw::BranchFeatures& f) {
  if (!f.hypervisor) return "none";
  return f.hypervisor_name.empty() ? "unknown" : view::printable(f.hypervisor_name);
}

}  // namespace hodo::doctor
