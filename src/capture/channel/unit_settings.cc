#include "unit_settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "hodo/hw/intel_pt.h"
#include "hodo/unit/pt_unit.h"

namespace hodo::capture {
namespace {

// CBR of the unit's core at its only frequency (see PtUnit).
constexpr std::uint32_t kNominalRatio = 10;

template <std::size_t N>
bool copy_path(std::array<char, N>& to, const std::string& from) {
  if (from.size() >= N) return false;
  std::memcpy(to.data(), from.c_str(), from.size() + 1);
  return true;
}

}  // namespace

std::uint64_t rtit_ctl(const PtOptions& pt) {
  namespace ctl = hw::rtit_ctl;
  std::uint64_t value = ctl::kTraceEn | ctl::kUser | ctl::kToPa;
  if (pt.branch) value |= ctl::kBranchEn;
  if (pt.tsc) value |= ctl::kTscEn;
  if (pt.mtc) value |= ctl::kMtcEn;
  if (pt.cyc) value |= ctl::kCycEn;
  if (!pt.return_compression) value |= ctl::kDisRetc;
  value = ctl::kMtcFreq.set(value, pt.mtc_period);
  value = ctl::kCycThresh.set(value, pt.cyc_thresh);
  return ctl::kPsbFreq.set(value, pt.psb_period);
}

relay::Recording recording_of(SourceKind source) {
  if (source == SourceKind::bts) return relay::Recording::bts;
  return source == SourceKind::lbr ? relay::Recording::lbr : relay::Recording::pt;
}

std::string_view unit_name(relay::Recording recording) {
  if (recording == relay::Recording::pt) return "pt";
  return recording == relay::Recording::bts ? "bts" : "lbr";
}

Result<relay::Settings> make_settings(const RecordOptions& options, const QemuInstallation& qemu) {
  relay::Settings settings;
  settings.recording = recording_of(options.source);
  settings.rtit_ctl = rtit_ctl(options.pt);
  settings.sample_period = options.sample_period;
  settings.follow_exec = options.follow_children ? 1 : 0;
  settings.recorder_pid = getpid();
  if (options.filters.size() > relay::kMaxFilters) {
    return fail(ErrorCode::usage, fmt::format("{} filters were given; there are {} address ranges",
                                              options.filters.size(), relay::kMaxFilters));
  }
  bool fits = copy_path(settings.qemu64, qemu.qemu64) && copy_path(settings.qemu32, qemu.qemu32);
  for (const FilterRange& range : options.filters) {
    relay::Filter& filter = settings.filter[settings.filters++];
    filter.start = range.start;
    filter.size = range.size;
    fits = fits && copy_path(filter.object, range.object);
  }
  if (!options.debug_log.empty()) {
    fits = fits && copy_path(settings.watcher, qemu.watcher + ",dir=" + options.debug_log);
  }
  if (!fits) return fail(ErrorCode::usage, "a path is longer than 4095 bytes");
  return settings;
}

perfdata::PtConfig make_pt_config(const RecordOptions& options) {
  perfdata::PtConfig config;
  // intel_pt's attr.config is IA32_RTIT_CTL without what the kernel sets itself.
  namespace ctl = hw::rtit_ctl;
  config.config = rtit_ctl(options.pt) & ~(ctl::kUser | ctl::kToPa);
  config.tsc_ctc_n = unit::kTscPerCtc;
  config.tsc_ctc_d = 1;
  config.max_nonturbo_ratio = kNominalRatio;
  for (const FilterRange& range : options.filters) {
    if (!config.filter.empty()) config.filter += ',';
    config.filter += fmt::format("filter {:#x}/{:#x}", range.start, range.size);
    if (!range.object.empty()) config.filter += "@" + range.object;
  }
  return config;
}

}  // namespace hodo::capture
