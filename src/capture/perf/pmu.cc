#include "hodo/capture/pmu.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <tuple>

namespace hodo::capture {
namespace {

constexpr std::size_t kMaxFileSize = 64 * 1024;  // /proc/cpuinfo: the first processors suffice
constexpr int kMaxCpus = 1 << 16;

// The whole of `text` as a number, or nullopt.
std::optional<std::uint64_t> parse_number(std::string_view text, int base) {
  if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const char* begin = std::to_address(text.begin());
  const char* end = std::to_address(text.end());
  const auto [stop, error] = std::from_chars(begin, end, value, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// Calls use(first, last) for each item of "1,4-7,9"; false if the text is no such list or use says
// so.
template <class Use>
bool for_each_range(std::string_view text, Use use) {
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const std::size_t dash = item.find('-');
    const auto first = parse_number(item.substr(0, dash), 10);
    const auto last = dash == item.npos ? first : parse_number(item.substr(dash + 1), 10);
    if (!first || !last || *first > *last || !use(*first, *last)) return false;
    if (comma == text.npos) return true;
    text.remove_prefix(comma + 1);
  }
}

std::unexpected<Error> malformed(const std::string& path, const std::string& text) {
  return fail(ErrorCode::malformed, path + ": cannot understand \"" + text + "\"");
}

// Reads the numbers of one PMU directory; absent files are 0, the first bad one is remembered.
class NumberFiles {
 public:
  explicit NumberFiles(std::string dir) : dir_(std::move(dir)) {}

  std::uint32_t get(const std::string& name, int base) {
    const auto text = read_small_file(dir_ + "/" + name);
    if (!text) return 0;
    const auto value = parse_number(*text, base);
    if (!value || *value > UINT32_MAX) {
      if (status_) status_ = malformed(dir_ + "/" + name, *text);
      return 0;
    }
    return static_cast<std::uint32_t>(*value);
  }
  // The kernel prints all capabilities in hexadecimal (pt_cap_show).
  std::uint32_t cap(const std::string& name) { return get("caps/" + name, 16); }

  // "342:2"
  std::pair<std::uint32_t, std::uint32_t> ratio(const std::string& name) {
    const auto text = read_small_file(dir_ + "/" + name);
    if (!text) return {0, 0};
    const std::size_t colon = text->find(':');
    const auto n = parse_number(std::string_view(*text).substr(0, colon), 10);
    const auto d = colon == text->npos
                       ? std::nullopt
                       : parse_number(std::string_view(*text).substr(colon + 1), 10);
    if (!n || !d || *n > UINT32_MAX || *d > UINT32_MAX) {
      if (status_) status_ = malformed(dir_ + "/" + name, *text);
      return {0, 0};
    }
    return {static_cast<std::uint32_t>(*n), static_cast<std::uint32_t>(*d)};
  }

  const Status& status() const { return status_; }

 private:
  std::string dir_;
  Status status_;
};

PtCaps read_caps(NumberFiles& files) {
  PtCaps caps;
  caps.psb_cyc = files.cap("psb_cyc") != 0;
  caps.mtc = files.cap("mtc") != 0;
  caps.ip_filtering = files.cap("ip_filtering") != 0;
  caps.cr3_filtering = files.cap("cr3_filtering") != 0;
  caps.ptwrite = files.cap("ptwrite") != 0;
  caps.power_event_trace = files.cap("power_event_trace") != 0;
  caps.event_trace = files.cap("event_trace") != 0;
  caps.tnt_disable = files.cap("tnt_disable") != 0;
  caps.topa_output = files.cap("topa_output") != 0;
  caps.topa_multiple_entries = files.cap("topa_multiple_entries") != 0;
  caps.single_range_output = files.cap("single_range_output") != 0;
  caps.payloads_lip = files.cap("payloads_lip") != 0;
  caps.mtc_periods = files.cap("mtc_periods");
  caps.cycle_thresholds = files.cap("cycle_thresholds");
  caps.psb_periods = files.cap("psb_periods");
  caps.num_address_ranges = files.cap("num_address_ranges");
  caps.nr_addr_filters = files.get("nr_addr_filters", 10);
  caps.max_nonturbo_ratio = files.get("max_nonturbo_ratio", 10);
  std::tie(caps.tsc_art_numerator, caps.tsc_art_denominator) = files.ratio("tsc_art_ratio");
  return caps;
}

Status read_format(const std::string& dir, std::map<std::string, FormatField>& format) {
  std::error_code error;
  std::filesystem::directory_iterator entries(dir, error);
  if (error) return fail(ErrorCode::io, dir + ": " + error.message());
  for (; entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    if (error) return fail(ErrorCode::io, dir + ": " + error.message());
    const std::string path = entries->path().string();
    const auto text = read_small_file(path);
    if (!text) return fail(ErrorCode::io, path + ": cannot be read");
    auto field = FormatField::parse(*text);
    if (!field) return malformed(path, *text);
    format.emplace(entries->path().filename().string(), *field);
  }
  return {};
}

// Is `word` one of the blank-separated words of the first line that starts with `key`?
bool cpuinfo_has(std::string_view cpuinfo, std::string_view key, std::string_view word) {
  const std::size_t start = cpuinfo.find(key);
  if (start == cpuinfo.npos) return false;
  std::string_view line = cpuinfo.substr(start);
  line = line.substr(0, line.find('\n'));
  for (std::size_t at = line.find(word); at != line.npos; at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool starts = at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t';
    if (starts && (end == line.size() || line[end] == ' ')) return true;
  }
  return false;
}

std::string no_event_sources(const SystemPaths& paths) {
  return paths.event_source +
         " is missing: sysfs is not mounted here, or the kernel was built without perf events";
}

// Why there is no intel_pt directory, from the most to the least fundamental reason.
std::string pt_absence_reason(const SystemPaths& paths) {
  std::error_code error;
  if (!std::filesystem::exists(paths.event_source, error)) return no_event_sources(paths);
  const std::string cpuinfo = read_small_file(paths.cpuinfo).value_or("");
  if (!cpuinfo_has(cpuinfo, "vendor_id", "GenuineIntel")) {
    return "Intel PT needs an Intel processor (Broadwell, 2014, or newer), which this is not";
  }
  if (cpuinfo_has(cpuinfo, "flags", "intel_pt")) {
    return "the processor has Intel PT but the kernel offers no intel_pt PMU: it was built without "
           "CONFIG_CPU_SUP_INTEL or CONFIG_PERF_EVENTS, or the firmware or a hypervisor has taken "
           "it";
  }
  if (cpuinfo_has(cpuinfo, "flags", "hypervisor")) {
    return "this is a virtual machine whose processor does not offer Intel PT; record on the host, "
           "or have it passed through (KVM: kvm_intel.pt_mode=1 and -cpu host,intel-pt=on)";
  }
  return "this processor has no Intel PT, or the firmware has switched it off";
}

// The same of intel_bts (kernel: arch/x86/events/intel/bts.c, bts_init; init_intel of
// arch/x86/kernel/cpu/intel.c sets the flag "bts" by IA32_MISC_ENABLE).
std::string bts_absence_reason(const SystemPaths& paths) {
  std::error_code error;
  if (!std::filesystem::exists(paths.event_source, error)) return no_event_sources(paths);
  const std::string cpuinfo = read_small_file(paths.cpuinfo).value_or("");
  if (!cpuinfo_has(cpuinfo, "vendor_id", "GenuineIntel")) {
    return "branch trace store needs an Intel processor, which this is not";
  }
  if (!cpuinfo_has(cpuinfo, "flags", "bts")) {
    return cpuinfo_has(cpuinfo, "flags", "hypervisor")
               ? "this is a virtual machine whose processor does not offer branch trace store; "
                 "record on the host"
               : "this processor has no branch trace store, or the firmware has switched it off "
                 "(BTS_UNAVAILABLE)";
  }
  if (!cpuinfo_has(cpuinfo, "flags", "dtes64")) {
    return "the kernel takes 64-bit BTS records only, which this processor does not write (no "
           "DTES64)";
  }
  if (has_pti(paths)) {
    return "the kernel has switched its intel_bts driver off, which does not go with page table "
           "isolation (PTI); starting it with nopti gives the driver back, but lets every program "
           "read all memory (Meltdown)";
  }
  return "the processor has branch trace store but the kernel offers no intel_bts PMU: it was "
         "built without the driver (CONFIG_CPU_SUP_INTEL, CONFIG_PERF_EVENTS)";
}

}  // namespace

std::optional<std::string> read_small_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text(kMaxFileSize, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return std::nullopt;
  text.resize(static_cast<std::size_t>(in.gcount()));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

Result<FormatField> FormatField::parse(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorCode::malformed, "cannot understand the format \"" + std::string(text) + "\"");
  };
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return bad();
  std::string_view word = text.substr(0, colon);
  if (!word.starts_with("config")) return bad();
  word.remove_prefix(6);
  FormatField field;
  if (!word.empty()) {
    const auto number = parse_number(word, 10);
    if (!number || *number > 3) return bad();
    field.word_ = static_cast<int>(*number);
  }
  const bool ok =
      for_each_range(text.substr(colon + 1), [&](std::uint64_t low, std::uint64_t high) {
        if (high > 63) return false;
        field.mask_ |= (~std::uint64_t{0} >> (63 - (high - low))) << low;
        return true;
      });
  if (!ok) return bad();
  return field;
}

std::uint64_t FormatField::max() const { return extract(mask_); }

std::optional<std::uint64_t> FormatField::place(std::uint64_t value) const {
  std::uint64_t out = 0;
  for (std::uint64_t rest = mask_; rest != 0; rest &= rest - 1) {
    if (value & 1) out |= rest & -rest;
    value >>= 1;
  }
  if (value != 0) return std::nullopt;
  return out;
}

std::uint64_t FormatField::extract(std::uint64_t config) const {
  std::uint64_t out = 0;
  int bit = 0;
  for (std::uint64_t rest = mask_; rest != 0; rest &= rest - 1, ++bit) {
    if (config & (rest & -rest)) out |= std::uint64_t{1} << bit;
  }
  return out;
}

const FormatField* PtPmu::field(const std::string& name) const {
  const auto found = format.find(name);
  return found == format.end() ? nullptr : &found->second;
}

namespace {

Result<std::uint32_t> read_type(const std::string& dir) {
  const auto type = read_small_file(dir + "/type");
  if (!type) return fail(ErrorCode::io, dir + "/type: cannot be read");
  const auto number = parse_number(*type, 10);
  if (!number || *number > UINT32_MAX) return malformed(dir + "/type", *type);
  return static_cast<std::uint32_t>(*number);
}

}  // namespace

Result<std::uint32_t> read_bts_type(const SystemPaths& paths) {
  if (!has_bts(paths)) return fail(ErrorCode::unsupported, bts_absence_reason(paths));
  return read_type(paths.event_source + "/intel_bts");
}

Result<PtPmu> read_pt_pmu(const SystemPaths& paths) {
  const std::string dir = paths.event_source + "/intel_pt";
  std::error_code error;
  if (!std::filesystem::is_directory(dir, error)) {
    return fail(ErrorCode::unsupported, pt_absence_reason(paths));
  }
  const auto type = read_type(dir);
  if (!type) return std::unexpected(type.error());

  PtPmu pmu;
  pmu.type = *type;
  NumberFiles files(dir);
  pmu.caps = read_caps(files);
  if (!files.status()) return std::unexpected(files.status().error());
  if (auto read = read_format(dir + "/format", pmu.format); !read) {
    return std::unexpected(read.error());
  }
  return pmu;
}

bool has_bts(const SystemPaths& paths) {
  std::error_code error;
  return std::filesystem::exists(paths.event_source + "/intel_bts/type", error);
}

bool has_pti(const SystemPaths& paths) {
  return cpuinfo_has(read_small_file(paths.cpuinfo).value_or(""), "flags", "pti");
}

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  const bool ok = for_each_range(text, [&](std::uint64_t first, std::uint64_t last) {
    if (last >= kMaxCpus) return false;
    for (std::uint64_t cpu = first; cpu <= last; ++cpu) cpus.push_back(static_cast<int>(cpu));
    return cpus.size() <= kMaxCpus;
  });
  if (!ok) {
    return fail(ErrorCode::malformed,
                "cannot understand the processor list \"" + std::string(text) + "\"");
  }
  return cpus;
}

}  // namespace hodo::capture
