// The facts of Intel PT's registers, stated once: MSRs, their bits, CPUID leaf 14H and the way the
// kernel's intel_pt PMU maps them to perf_event_attr::config (Intel SDM vol. 3, chapter "Intel
// Processor Trace"; vol. 4 for the MSR numbers).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "hodo/hw/cpuid.h"
#include "hodo/hw/field.h"

namespace hodo::hw {

// MSR numbers (SDM vol. 4, table "IA-32 Architectural MSRs").
namespace msr {
inline constexpr std::uint32_t kRtitOutputBase = 0x560;
inline constexpr std::uint32_t kRtitOutputMaskPtrs = 0x561;
inline constexpr std::uint32_t kRtitCtl = 0x570;
inline constexpr std::uint32_t kRtitStatus = 0x571;
inline constexpr std::uint32_t kRtitCr3Match = 0x572;
// ADDRn_A and ADDRn_B, the first and the last address of range n, alternate from here.
inline constexpr std::uint32_t kRtitAddr0A = 0x580;
constexpr std::uint32_t rtit_addr_a(unsigned n) { return kRtitAddr0A + 2 * n; }
constexpr std::uint32_t rtit_addr_b(unsigned n) { return kRtitAddr0A + 2 * n + 1; }
}  // namespace msr

// IA32_RTIT_CTL (SDM, "IA32_RTIT_CTL MSR").
namespace rtit_ctl {
inline constexpr std::uint64_t kTraceEn = 1ull << 0;
inline constexpr std::uint64_t kCycEn = 1ull << 1;
inline constexpr std::uint64_t kOs = 1ull << 2;
inline constexpr std::uint64_t kUser = 1ull << 3;
inline constexpr std::uint64_t kPwrEvtEn = 1ull << 4;
inline constexpr std::uint64_t kFupOnPtw = 1ull << 5;
inline constexpr std::uint64_t kFabricEn = 1ull << 6;
inline constexpr std::uint64_t kCr3Filter = 1ull << 7;
inline constexpr std::uint64_t kToPa = 1ull << 8;
inline constexpr std::uint64_t kMtcEn = 1ull << 9;
inline constexpr std::uint64_t kTscEn = 1ull << 10;
inline constexpr std::uint64_t kDisRetc = 1ull << 11;
inline constexpr std::uint64_t kPtwEn = 1ull << 12;
inline constexpr std::uint64_t kBranchEn = 1ull << 13;
inline constexpr Field kMtcFreq{14, 4};    // a packet every 2^n clocks of the crystal (CTC)
inline constexpr Field kCycThresh{19, 4};  // 0: every cycle, else at least 2^(n-1) between packets
inline constexpr Field kPsbFreq{24, 4};    // see psb_period_bytes
inline constexpr std::uint64_t kEventEn = 1ull << 31;
inline constexpr std::uint64_t kDisTnt = 1ull << 55;
inline constexpr std::uint64_t kInjectPsbPmiOnEnable = 1ull << 56;
inline constexpr unsigned kAddrRanges = 4;
// What range n (0-3) does: see AddrConfig.
constexpr Field addr_cfg(unsigned n) { return {32 + 4 * n, 4}; }
}  // namespace rtit_ctl

enum class AddrConfig : std::uint8_t { unused = 0, filter = 1, trace_stop = 2 };

// IA32_RTIT_STATUS (SDM, "IA32_RTIT_STATUS MSR").
namespace rtit_status {
inline constexpr std::uint64_t kFilterEn = 1ull << 0;
inline constexpr std::uint64_t kContextEn = 1ull << 1;
inline constexpr std::uint64_t kTriggerEn = 1ull << 2;
inline constexpr std::uint64_t kError = 1ull << 4;
inline constexpr std::uint64_t kStopped = 1ull << 5;
inline constexpr std::uint64_t kPendPsb = 1ull << 6;
inline constexpr std::uint64_t kPendToPaPmi = 1ull << 7;
inline constexpr Field kPacketByteCnt{32, 17};
}  // namespace rtit_status

// A ToPA table entry (SDM, "ToPA Table Entry Details").
namespace topa {
inline constexpr std::uint64_t kEnd = 1ull << 0;
inline constexpr std::uint64_t kInt = 1ull << 2;
inline constexpr std::uint64_t kStop = 1ull << 4;
inline constexpr Field kSize{6, 4};  // a region of 4096 << n bytes
inline constexpr Field kBase{12, 52};
constexpr std::uint64_t region_bytes(std::uint64_t entry) { return 4096ull << kSize.get(entry); }
}  // namespace topa

// How many bytes of trace lie between two PSBs, about: 2 KiB << n (SDM, "IA32_RTIT_CTL MSR",
// PSBFreq).
constexpr std::uint64_t psb_period_bytes(unsigned psb_freq) { return 2048ull << (psb_freq & 15); }

// What a processor's Intel PT can do: CPUID leaf 14H (SDM vol. 3, "Enumeration of Intel PT").
struct PtCapabilities {
  // Subleaf 0, EBX.
  bool cr3_filter = false;
  bool cyc = false;        // CYC packets, CycThresh, PSBFreq
  bool ip_filter = false;  // address ranges, TraceStop, and PT state that survives a warm reset
  bool mtc = false;        // MTC packets and MTCFreq
  bool ptwrite = false;
  bool power_events = false;
  bool psb_pmi_preserve = false;
  bool event_trace = false;  // CFE and EVD packets
  bool disable_tnt = false;
  bool trigger_tracing = false;
  // Subleaf 0, ECX.
  bool topa = false;
  bool topa_multiple = false;  // more than one entry in a table
  bool single_range = false;
  bool fabric = false;
  bool ip_is_lip = false;  // IPs are linear addresses; clear: they are offsets into CS
  // Subleaf 1.
  std::uint8_t addr_ranges = 0;
  std::uint16_t mtc_periods = 0;     // bit n: MTCFreq n is allowed
  std::uint16_t cyc_thresholds = 0;  // bit n: CycThresh n
  std::uint16_t psb_periods = 0;     // bit n: PSBFreq n

  friend bool operator==(const PtCapabilities&, const PtCapabilities&) = default;

  // The bits of IA32_RTIT_CTL that may be set on this processor; a write with any other raises #GP.
  std::uint64_t allowed_rtit_ctl() const;
};

// Reads leaf 14H. `subleaf1` counts only if subleaf 0 says that it exists (EAX at least 1).
PtCapabilities decode_pt_cpuid(const CpuidRegs& subleaf0, const CpuidRegs& subleaf1);

// The inverse, for a processor that is made of software.
struct PtCpuid {
  CpuidRegs subleaf0;
  CpuidRegs subleaf1;
};
PtCpuid encode_pt_cpuid(const PtCapabilities& capabilities);

// perf_event_attr::config of the intel_pt PMU. The kernel uses IA32_RTIT_CTL's own bit positions
// for all but `pt`, which takes TraceEn's bit to say that the configuration was made by hand
// (arch/x86/events/intel/pt.c, PMU_FORMAT_ATTR; sysfs shows the same in
// /sys/bus/event_source/devices/intel_pt/format).
struct PtConfigTerm {
  std::string_view name;
  Field field;
};
inline constexpr std::array kPtConfigTerms = {
    PtConfigTerm{"pt", {0, 1}},          PtConfigTerm{"cyc", {1, 1}},
    PtConfigTerm{"pwr_evt", {4, 1}},     PtConfigTerm{"fup_on_ptw", {5, 1}},
    PtConfigTerm{"mtc", {9, 1}},         PtConfigTerm{"tsc", {10, 1}},
    PtConfigTerm{"noretcomp", {11, 1}},  PtConfigTerm{"ptw", {12, 1}},
    PtConfigTerm{"branch", {13, 1}},     PtConfigTerm{"mtc_period", {14, 4}},
    PtConfigTerm{"cyc_thresh", {19, 4}}, PtConfigTerm{"psb_period", {24, 4}},
    PtConfigTerm{"event", {31, 1}},      PtConfigTerm{"notnt", {55, 1}},
};

// The bits of a term, or nullopt for a name that intel_pt does not have.
std::optional<Field> pt_config_term(std::string_view name);

// The text of a file in the PMU's format directory, "config:14-17" or "config:10", to its bits;
// nullopt for anything else (several ranges, config1, numbers out of 0-63).
std::optional<Field> parse_config_format(std::string_view text);

}  // namespace hodo::hw
