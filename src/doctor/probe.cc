#include "probe.h"

#include <linux/perf_event.h>

#include <cerrno>
#include <charconv>

#include "hodo/capture/perf_attr.h"

namespace hodo::doctor {
namespace {

perf_event_attr user_event(std::uint32_t type, std::uint64_t config) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = type;
  attr.config = config;
  attr.disabled = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return attr;
}

constexpr std::uint64_t kPeriod = 1'000'000;

perf_event_attr sampling_event() {
  perf_event_attr attr = user_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
  attr.sample_period = kPeriod;
  attr.sample_type = PERF_SAMPLE_IP;
  return attr;
}

int try_to_open(capture::Kernel& kernel, const perf_event_attr& attr) {
  const auto opened = kernel.open_event(attr, 0, -1);
  return opened ? 0 : opened.error();
}

// The PMU's number in perf_event_attr::type; nullopt if the kernel does not have it.
std::optional<std::uint32_t> pmu_type(const capture::SystemPaths& paths, const std::string& name) {
  const auto text = capture::read_small_file(paths.event_source + "/" + name + "/type");
  if (!text) return std::nullopt;
  std::uint32_t type = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, problem] = std::from_chars(text->data(), end, type);
  if (problem != std::errc{} || stop != end) return std::nullopt;
  return type;
}

}  // namespace

Probes probe_events(capture::Kernel& kernel, const capture::SystemPaths& paths) {
  Probes out;
  if (const auto type = pmu_type(paths, "intel_pt")) {
    out.pt = try_to_open(kernel, user_event(*type, 0));
  }
  if (const auto type = pmu_type(paths, "intel_bts")) {
    out.bts = try_to_open(kernel, user_event(*type, 0));
  }
  // The recorder's own event: BRS goes with no other.
  out.lbr = try_to_open(kernel, capture::stack_event(paths, kPeriod, {}).attr);
  perf_event_attr pebs = sampling_event();
  pebs.precise_ip = 2;
  out.pebs = try_to_open(kernel, pebs);
  return out;
}

}  // namespace hodo::doctor
