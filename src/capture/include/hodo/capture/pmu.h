// What the kernel says about the trace hardware: the intel_pt and intel_bts directories below
// /sys/bus/event_source/devices (kernel: arch/x86/events/intel/pt.c, pt_attr_groups).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hodo/base/result.h"

namespace hodo::capture {

// Where the kernel's files lie; tests put their own trees there.
struct SystemPaths {
  std::string event_source = "/sys/bus/event_source/devices";
  std::string cpuinfo = "/proc/cpuinfo";
  std::string sys_kernel = "/proc/sys/kernel";
  std::string online_cpus = "/sys/devices/system/cpu/online";
  std::string kvm_intel = "/sys/module/kvm_intel/parameters";
};

// One file of a PMU's format directory: which bits of which config word hold a value, for example
// "config:14-17" or "config1:0,8-11"
// (Documentation/ABI/testing/sysfs-bus-event_source-devices-format).
class FormatField {
 public:
  // Errors: malformed.
  static Result<FormatField> parse(std::string_view text);

  int word() const { return word_; }            // 0: config, 1: config1, 2: config2, 3: config3
  std::uint64_t mask() const { return mask_; }  // never 0
  std::uint64_t max() const;                    // the largest value that fits
  // `value` spread over the mask's bits, lowest bit first; nullopt if it does not fit.
  std::optional<std::uint64_t> place(std::uint64_t value) const;
  // The inverse: the value that `config` holds in this field.
  std::uint64_t extract(std::uint64_t config) const;

 private:
  int word_ = 0;
  std::uint64_t mask_ = 0;
};

// The PMU's capabilities (its caps directory: CPUID leaf 0x14) and other numbers. Absent files are
// 0, as on a kernel or processor that does not know them.
struct PtCaps {
  bool psb_cyc = false;  // CYC packets, and a choice of PSB period
  bool mtc = false;
  bool ip_filtering = false;
  bool cr3_filtering = false;
  bool ptwrite = false;
  bool power_event_trace = false;
  bool event_trace = false;
  bool tnt_disable = false;
  bool topa_output = false;
  bool topa_multiple_entries = false;  // without it PSBs come every 256 bytes or so (Broadwell)
  bool single_range_output = false;
  bool payloads_lip = false;           // IP payloads are linear addresses, CS base included
  std::uint32_t mtc_periods = 0;       // bit N: value N of mtc_period is allowed
  std::uint32_t cycle_thresholds = 0;  // likewise for cyc_thresh
  std::uint32_t psb_periods = 0;       // likewise for psb_period
  std::uint32_t num_address_ranges = 0;
  std::uint32_t nr_addr_filters =
      0;  // what the kernel lets a user set; 0 where it has no such file
  std::uint32_t max_nonturbo_ratio = 0;
  std::uint32_t tsc_art_numerator = 0;  // TSC = ART * numerator / denominator; 0: not enumerated
  std::uint32_t tsc_art_denominator = 0;
};

struct PtPmu {
  std::uint32_t type = 0;                     // perf_event_attr::type
  std::map<std::string, FormatField> format;  // by file name: "tsc", "mtc_period", ...
  PtCaps caps;

  const FormatField* field(const std::string& name) const;  // nullptr: this kernel does not know it
};

// Reads the intel_pt PMU.
// Errors: unsupported, with the most likely reason and what to do about it (no Intel processor, a
// virtual machine without it, a kernel without the driver, no sysfs); malformed (a file that cannot
// be understood, named in the message); io (a file that cannot be read).
Result<PtPmu> read_pt_pmu(const SystemPaths& paths = {});

// Is there a branch trace store (an intel_bts PMU)?
bool has_bts(const SystemPaths& paths = {});
// Its perf_event_attr::type. Errors: unsupported, with the reason as of read_pt_pmu; malformed, io.
Result<std::uint32_t> read_bts_type(const SystemPaths& paths = {});

// Does the kernel isolate page tables against Meltdown? Its intel_bts driver does not go with that
// (bts_init in arch/x86/events/intel/bts.c).
bool has_pti(const SystemPaths& paths = {});

// "0-3,6" -> 0 1 2 3 6: the kernel's list format (bitmap_parselist). Errors: malformed.
Result<std::vector<int>> parse_cpu_list(std::string_view text);

// The text of a small file without its trailing newline; nullopt if it cannot be read.
std::optional<std::string> read_small_file(const std::string& path);

}  // namespace hodo::capture
