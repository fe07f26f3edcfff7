#include "hodo/hw/intel_pt.h"

#include <algorithm>
#include <charconv>

namespace hodo::hw {
namespace {

// Where leaf 14H keeps each yes-or-no answer.
struct Flag {
  bool PtCapabilities::* member;
  std::uint32_t CpuidRegs::* reg;
  unsigned bit;
};

constexpr Flag kFlags[] = {
    {&PtCapabilities::cr3_filter, &CpuidRegs::ebx, 0},
    {&PtCapabilities::cyc, &CpuidRegs::ebx, 1},
    {&PtCapabilities::ip_filter, &CpuidRegs::ebx, 2},
    {&PtCapabilities::mtc, &CpuidRegs::ebx, 3},
    {&PtCapabilities::ptwrite, &CpuidRegs::ebx, 4},
    {&PtCapabilities::power_events, &CpuidRegs::ebx, 5},
    {&PtCapabilities::psb_pmi_preserve, &CpuidRegs::ebx, 6},
    {&PtCapabilities::event_trace, &CpuidRegs::ebx, 7},
    {&PtCapabilities::disable_tnt, &CpuidRegs::ebx, 8},
    {&PtCapabilities::trigger_tracing, &CpuidRegs::ebx, 9},
    {&PtCapabilities::topa, &CpuidRegs::ecx, 0},
    {&PtCapabilities::topa_multiple, &CpuidRegs::ecx, 1},
    {&PtCapabilities::single_range, &CpuidRegs::ecx, 2},
    {&PtCapabilities::fabric, &CpuidRegs::ecx, 3},
    {&PtCapabilities::ip_is_lip, &CpuidRegs::ecx, 31},
};

constexpr Field kAddrRangesField{0, 3};      // subleaf 1 EAX
constexpr Field kMtcPeriodsField{16, 16};    // subleaf 1 EAX
constexpr Field kCycThresholdsField{0, 16};  // subleaf 1 EBX
constexpr Field kPsbPeriodsField{16, 16};    // subleaf 1 EBX

}  // namespace

PtCapabilities decode_pt_cpuid(const CpuidRegs& subleaf0, const CpuidRegs& subleaf1) {
  PtCapabilities out;
  for (const Flag& flag : kFlags) out.*flag.member = (subleaf0.*flag.reg >> flag.bit & 1) != 0;
  if (subleaf0.eax == 0) return out;
  out.addr_ranges = static_cast<std::uint8_t>(kAddrRangesField.get(subleaf1.eax));
  out.mtc_periods = static_cast<std::uint16_t>(kMtcPeriodsField.get(subleaf1.eax));
  out.cyc_thresholds = static_cast<std::uint16_t>(kCycThresholdsField.get(subleaf1.ebx));
  out.psb_periods = static_cast<std::uint16_t>(kPsbPeriodsField.get(subleaf1.ebx));
  return out;
}

PtCpuid encode_pt_cpuid(const PtCapabilities& capabilities) {
  PtCpuid out;
  out.subleaf0.eax = 1;
  for (const Flag& flag : kFlags) {
    if (capabilities.*flag.member) out.subleaf0.*flag.reg |= std::uint32_t{1} << flag.bit;
  }
  out.subleaf1.eax = static_cast<std::uint32_t>(kAddrRangesField.set(0, capabilities.addr_ranges) |
                                                kMtcPeriodsField.set(0, capabilities.mtc_periods));
  out.subleaf1.ebx =
      static_cast<std::uint32_t>(kCycThresholdsField.set(0, capabilities.cyc_thresholds) |
                                 kPsbPeriodsField.set(0, capabilities.psb_periods));
  return out;
}

std::uint64_t PtCapabilities::allowed_rtit_ctl() const {
  using namespace rtit_ctl;
  std::uint64_t out = kTraceEn | kOs | kUser | kTscEn | kDisRetc | kBranchEn;
  if (cr3_filter) out |= kCr3Filter;
  if (cyc) out |= kCycEn | kCycThresh.mask() | kPsbFreq.mask();
  if (mtc) out |= kMtcEn | kMtcFreq.mask();
  if (ptwrite) out |= kPtwEn | kFupOnPtw;
  if (power_events) out |= kPwrEvtEn;
  if (psb_pmi_preserve) out |= kInjectPsbPmiOnEnable;
  if (event_trace) out |= kEventEn;
  if (disable_tnt) out |= kDisTnt;
  if (topa) out |= kToPa;
  if (fabric) out |= kFabricEn;
  const unsigned ranges = ip_filter ? std::min<unsigned>(addr_ranges, kAddrRanges) : 0;
  for (unsigned n = 0; n < ranges; ++n) out |= addr_cfg(n).mask();
  return out;
}

std::optional<Field> pt_config_term(std::string_view name) {
  const auto* const found = std::ranges::find(kPtConfigTerms, name, &PtConfigTerm::name);
  if (found == kPtConfigTerms.end()) return std::nullopt;
  return found->field;
}

std::optional<Field> parse_config_format(std::string_view text) {
  constexpr std::string_view kPrefix = "config:";
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (!text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  const char* const start = text.data();
  const char* const end = start + text.size();
  unsigned low = 0;
  auto parsed = std::from_chars(start, end, low);
  if (parsed.ec != std::errc{}) return std::nullopt;
  unsigned high = low;
  if (parsed.ptr != end) {
    if (*parsed.ptr != '-') return std::nullopt;
    parsed = std::from_chars(parsed.ptr + 1, end, high);
    if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  }
  if (high > 63 || low > high) return std::nullopt;
  return Field{low, high - low + 1};
}

}  // namespace hodo::hw
