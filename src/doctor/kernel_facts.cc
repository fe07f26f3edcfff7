#include "kernel_facts.h"

#include <charconv>
#include <filesystem>
#include <string_view>

namespace hodo::doctor {
namespace {

template <class T>
std::optional<T> read_number(const std::string& path) {
  const auto text = capture::read_small_file(path);
  if (!text) return std::nullopt;
  T value = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, problem] = std::from_chars(text->data(), end, value);
  if (problem != std::errc{} || stop != end) return std::nullopt;
  return value;
}

// "none [integrity] confidentiality": the one in brackets holds.
std::string chosen(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']');
  if (open == text.npos || close == text.npos || close < open) return {};
  return std::string(text.substr(open + 1, close - open - 1));
}

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

capture::SystemPaths paths_below(const std::string& root) {
  return {.event_source = root + "/sys/bus/event_source/devices",
          .cpuinfo = root + "/proc/cpuinfo",
          .sys_kernel = root + "/proc/sys/kernel",
          .online_cpus = root + "/sys/devices/system/cpu/online"};
}

KernelFacts read_kernel_facts(const std::string& root, bool privileged) {
  const capture::SystemPaths paths = paths_below(root);
  KernelFacts out;
  out.privileged = privileged;
  out.release = capture::read_small_file(paths.sys_kernel + "/osrelease").value_or("");
  out.perf_event_paranoid = read_number<int>(paths.sys_kernel + "/perf_event_paranoid");
  out.mlock_kb = read_number<std::uint64_t>(paths.sys_kernel + "/perf_event_mlock_kb");
  out.lockdown =
      chosen(capture::read_small_file(root + "/sys/kernel/security/lockdown").value_or(""));
  out.pt_pmu = exists(paths.event_source + "/intel_pt");
  out.bts_pmu = capture::has_bts(paths);
  out.pti = capture::has_pti(paths);
  out.core_pmu = exists(paths.event_source + "/cpu") || exists(paths.event_source + "/cpu_core");
  out.kvm_takes_pt = read_number<int>(root + "/sys/module/kvm_intel/parameters/pt_mode") == 1;
  out.pt_filters =
      read_number<unsigned>(paths.event_source + "/intel_pt/nr_addr_filters").value_or(0);
  return out;
}

}  // namespace hodo::doctor
