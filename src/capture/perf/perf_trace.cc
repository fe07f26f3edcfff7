#include "perf_trace.h"

#include <algorithm>
#include <utility>

#include "hodo/hw/bts.h"

namespace hodo::capture {
namespace {

// Value 2 of AUXTRACE_INFO's word: the kernel's SWITCH records of the traced threads.
constexpr std::uint32_t kSwitchRecords = 2;

class PtTrace final : public PerfTrace {
 public:
  PtTrace(PtPmu pmu, const PtOptions& options) : pmu_(std::move(pmu)), options_(options) {}

  std::string_view name() const override { return "Intel PT"; }
  std::string_view word() const override { return "pt"; }
  Result<TraceEvent> event(const EventScope& scope, std::uint32_t watermark) const override {
    return pt_event(pmu_, options_, scope, watermark);
  }
  Result<std::string> filter(std::span<const FilterRange> ranges) const override {
    return filter_text(pmu_.caps, ranges);
  }
  // Two PSB periods, 2^(N+11) bytes each.
  std::size_t reference_size() const override {
    return std::size_t{2} << (std::min<unsigned>(options_.psb_period, 15) + 11);
  }
  void describe(perfdata::WriterOptions& file, const perf_event_attr& event,
                const std::string& filter) const override {
    file.pt = describe_pt(pmu_, event);
    file.pt.have_sched_switch = kSwitchRecords;
    file.pt.per_cpu = true;
    file.pt.filter = filter;
  }

 private:
  PtPmu pmu_;
  PtOptions options_;
};

class BtsTrace final : public PerfTrace {
 public:
  explicit BtsTrace(std::uint32_t pmu_type) : pmu_type_(pmu_type) {}

  std::string_view name() const override { return "Intel BTS"; }
  std::string_view word() const override { return "bts"; }
  Result<TraceEvent> event(const EventScope& scope, std::uint32_t watermark) const override {
    return bts_event(pmu_type_, scope, watermark);
  }
  // Some records.
  std::size_t reference_size() const override { return 64 * sizeof(hw::BtsRecord); }
  void describe(perfdata::WriterOptions& file, const perf_event_attr& event,
                const std::string&) const override {
    file.trace = perfdata::TraceKind::intel_bts;
    file.pt.pmu_type = event.type;
  }

 private:
  std::uint32_t pmu_type_;
};

class StackTrace final : public PerfTrace {
 public:
  StackTrace(SystemPaths paths, std::uint64_t period) : paths_(std::move(paths)), period_(period) {}

  std::string_view name() const override { return "a stack of last branches (LBR)"; }
  std::string_view word() const override { return "lbr"; }
  Result<TraceEvent> event(const EventScope& scope, std::uint32_t) const override {
    return stack_event(paths_, period_, scope);
  }
  bool has_buffer() const override { return false; }
  void describe(perfdata::WriterOptions& file, const perf_event_attr&,
                const std::string&) const override {
    file.trace = perfdata::TraceKind::branch_stacks;
  }

 private:
  SystemPaths paths_;
  std::uint64_t period_;
};

}  // namespace

Result<std::unique_ptr<PerfTrace>> find_perf_trace(const RecordOptions& options,
                                                   const SystemPaths& paths) {
  switch (options.source) {
    case SourceKind::automatic:
    case SourceKind::pt: {
      auto pmu = read_pt_pmu(paths);
      if (!pmu) return std::unexpected(pmu.error());
      return std::make_unique<PtTrace>(std::move(*pmu), options.pt);
    }
    case SourceKind::bts: {
      const auto type = read_bts_type(paths);
      if (!type) return std::unexpected(type.error());
      return std::make_unique<BtsTrace>(*type);
    }
    case SourceKind::lbr:
      return std::make_unique<StackTrace>(paths, options.sample_period);
    case SourceKind::qemu:
    case SourceKind::dbi:
    case SourceKind::step:
      break;
  }
  return fail(ErrorCode::unsupported, "no processor makes a trace of this kind");
}

}  // namespace hodo::capture
