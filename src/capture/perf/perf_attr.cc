#include "hodo/capture/perf_attr.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace hodo::capture {
namespace {

// Every record's trailer: who, when, where, and which event. IDENTIFIER puts the id at a fixed
// place so that records of both events can share a ring.
constexpr std::uint64_t kSampleType =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;

constexpr PtOptions kDefaults;

// "0,3,6-9": the set bits.
std::string list_bits(std::uint32_t bits) {
  std::string out;
  for (int bit = 0; bit < 32; ++bit) {
    if (!(bits >> bit & 1)) continue;
    int last = bit;
    while (last < 31 && bits >> (last + 1) & 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(bit);
    if (last > bit) out += (last > bit + 1 ? '-' : ',') + std::to_string(last);
    bit = last;
  }
  return out;
}

// The allowed value nearest to `wanted`: the largest one up to it, else the smallest. `allowed` !=
// 0.
unsigned nearest(std::uint32_t allowed, unsigned wanted) {
  for (unsigned value = std::min(wanted, 31u) + 1; value-- > 0;) {
    if (allowed >> value & 1) return value;
  }
  return static_cast<unsigned>(std::countr_zero(allowed));
}

// Puts values into config, config1 and config2, remembering the first error.
class ConfigBuilder {
 public:
  explicit ConfigBuilder(const PtPmu& pmu) : pmu_(pmu) {}

  bool has(const char* name) const { return pmu_.field(name) != nullptr; }

  void set(const char* name, std::uint64_t value) {
    const FormatField* field = pmu_.field(name);
    if (field == nullptr) {
      return error(std::string("this kernel's intel_pt has no \"") + name + "\"");
    }
    const auto bits = field->place(value);
    if (!bits || field->word() > 2) {
      return error(std::string(name) + " " + std::to_string(value) + " does not fit: at most " +
                   std::to_string(field->max()));
    }
    words_[field->word()] |= *bits;
  }

  // A value of which the processor allows those in `allowed`; 0 is what it does by itself.
  void choose(const char* name, std::uint32_t allowed, unsigned wanted, unsigned preferred) {
    if (wanted < 32 && (allowed >> wanted & 1)) return set(name, wanted);
    if (wanted == 0) return;
    if (wanted != preferred) {
      return error(std::string(name) + " " + std::to_string(wanted) +
                   " is not supported by this processor; it has: " + list_bits(allowed | 1));
    }
    const unsigned value = allowed == 0 ? 0 : nearest(allowed, wanted);
    note(std::string(name) + " is " + std::to_string(value) + ": this processor has no " +
         std::to_string(wanted));
    if (value != 0) set(name, value);
  }

  void error(std::string message) {
    if (status_) status_ = fail(ErrorCode::unsupported, std::move(message));
  }
  void note(std::string line) { notes_.push_back(std::move(line)); }

  const Status& status() const { return status_; }
  std::uint64_t word(int i) const { return words_[i]; }
  std::vector<std::string> take_notes() { return std::move(notes_); }

 private:
  const PtPmu& pmu_;
  std::uint64_t words_[3] = {};
  Status status_;
  std::vector<std::string> notes_;
};

// Bit 0 means "take BranchEn from the config instead of always setting it" (pt.c, pt_event_valid);
// a kernel without the two fields always traces branches.
void set_branches(ConfigBuilder& config, bool branch) {
  if (config.has("pt") && config.has("branch")) {
    config.set("pt", 1);
    config.set("branch", branch ? 1 : 0);
  } else if (!branch) {
    config.error("this kernel's intel_pt cannot record without branches");
  }
}

void set_timing(ConfigBuilder& config, const PtCaps& caps, const PtOptions& options) {
  config.set("tsc", options.tsc ? 1 : 0);
  if (options.mtc && caps.mtc && caps.mtc_periods != 0) {
    config.set("mtc", 1);
    // Unlike the other two, an MTC period of 0 has to be allowed as well.
    const bool demanded = options.mtc_period != kDefaults.mtc_period;
    if (demanded && (options.mtc_period > 31 || !(caps.mtc_periods >> options.mtc_period & 1))) {
      config.error("mtc_period " + std::to_string(options.mtc_period) +
                   " is not supported by this processor; it has: " + list_bits(caps.mtc_periods));
    } else {
      config.choose("mtc_period", caps.mtc_periods, options.mtc_period, kDefaults.mtc_period);
    }
  } else if (options.mtc) {
    config.note("no MTC packets: this processor's Intel PT has none, so times are coarser");
  }
  if (!options.cyc) return;
  if (!caps.psb_cyc) return config.error("cyc is not supported by this processor's Intel PT");
  config.set("cyc", 1);
  config.choose("cyc_thresh", caps.cycle_thresholds, options.cyc_thresh, kDefaults.cyc_thresh);
}

void apply_scope(perf_event_attr& attr, const EventScope& scope) {
  attr.size = sizeof attr;
  attr.sample_type = kSampleType;
  attr.sample_id_all = 1;
  attr.read_format = PERF_FORMAT_ID;
  attr.sample_period = 1;
  attr.exclude_kernel = scope.level == Level::user;
  attr.exclude_user = scope.level == Level::kernel;
  attr.exclude_hv = 1;
  attr.inherit = scope.inherit;
  attr.inherit_thread = scope.inherit && scope.only_threads;
}

// What perf writes behind an event's name.
std::string modifier(Level level) {
  if (level == Level::both) return "";
  return level == Level::user ? "u" : "k";
}

// The kernel splits at these and has no quoting.
bool kernel_can_express(const std::string& path) { return path.find_first_of(" ,\n") == path.npos; }

std::string hex(std::uint64_t value) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::optional<Error> bad_range(const FilterRange& range) {
  if (range.size == 0) return Error{ErrorCode::usage, "a filter range is empty"};
  if (range.start > ~std::uint64_t{0} - range.size) {
    return Error{ErrorCode::usage, "a filter range goes past the end of the address space"};
  }
  if (range.object.empty()) {
    return Error{
        ErrorCode::unsupported,
        "Intel PT filters for a program need a file (START/SIZE@FILE): the kernel takes bare "
        "addresses only for its own code"};
  }
  if (!kernel_can_express(range.object)) {
    return Error{ErrorCode::usage, range.object +
                                       ": the kernel cannot filter a path with a blank or comma in "
                                       "it; filter through a symbolic link without"};
  }
  return std::nullopt;
}

std::uint64_t field_mask(const PtPmu& pmu, const char* name) {
  const FormatField* field = pmu.field(name);
  return field != nullptr && field->word() == 0 ? field->mask() : 0;
}

}  // namespace

Result<TraceEvent> pt_event(const PtPmu& pmu, const PtOptions& options, const EventScope& scope,
                            std::uint32_t aux_watermark) {
  if (options.cyc_thresh != 0 && !options.cyc) {
    return fail(ErrorCode::usage, "cyc_thresh has no meaning without cyc");
  }
  ConfigBuilder config(pmu);
  set_branches(config, options.branch);
  set_timing(config, pmu.caps, options);
  config.set("noretcomp", options.return_compression ? 0 : 1);
  config.choose("psb_period", pmu.caps.psb_cyc ? pmu.caps.psb_periods : 0, options.psb_period,
                kDefaults.psb_period);
  if (!config.status()) return std::unexpected(config.status().error());

  TraceEvent event;
  apply_scope(event.attr, scope);
  event.attr.type = pmu.type;
  event.attr.config = config.word(0);
  event.attr.config1 = config.word(1);
  event.attr.config2 = config.word(2);
  event.attr.disabled = 1;
  event.attr.enable_on_exec = 1;
  event.attr.aux_watermark = aux_watermark;
  event.name = "intel_pt//" + modifier(scope.level);
  event.notes = config.take_notes();
  return event;
}

TraceEvent bts_event(std::uint32_t pmu_type, const EventScope& scope, std::uint32_t aux_watermark) {
  TraceEvent event;
  apply_scope(event.attr, scope);
  event.attr.type = pmu_type;
  event.attr.disabled = 1;
  event.attr.enable_on_exec = 1;
  event.attr.aux_watermark = aux_watermark;
  event.name = "intel_bts//" + modifier(scope.level);
  return event;
}

TraceEvent stack_event(const SystemPaths& paths, std::uint64_t period, const EventScope& scope) {
  TraceEvent event;
  apply_scope(event.attr, scope);
  event.attr.type = PERF_TYPE_HARDWARE;
  event.attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
  event.name = "branches";
  // "event=0xc4"
  const auto brs = read_small_file(paths.event_source + "/cpu/events/branch-brs");
  if (brs && brs->starts_with("event=")) {
    event.attr.type = PERF_TYPE_RAW;
    event.attr.config = std::strtoul(brs->c_str() + 6, nullptr, 0);
    event.name = "branch-brs";
  }
  event.attr.sample_period = period;
  event.attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
  event.attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
  if (scope.level != Level::kernel) event.attr.branch_sample_type |= PERF_SAMPLE_BRANCH_USER;
  if (scope.level != Level::user) event.attr.branch_sample_type |= PERF_SAMPLE_BRANCH_KERNEL;
  event.attr.disabled = 1;
  event.attr.enable_on_exec = 1;
  if (scope.level != Level::both) event.name += ":" + modifier(scope.level);
  return event;
}

perf_event_attr tracking_attr(const EventScope& scope) {
  perf_event_attr attr = {};
  apply_scope(attr, scope);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.build_id = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
  attr.context_switch = 1;
  // Code that the kernel makes while it runs; of no use to those who may not see the kernel.
  attr.ksymbol = scope.level != Level::user;
  attr.bpf_event = scope.level != Level::user;
  return attr;
}

Result<std::string> filter_text(const PtCaps& caps, std::span<const FilterRange> ranges) {
  if (ranges.empty()) return std::string();
  const std::uint32_t available = caps.ip_filtering ? caps.nr_addr_filters : 0;
  if (available == 0) {
    return fail(ErrorCode::unsupported,
                "this processor's Intel PT cannot filter by address (Skylake, Goldmont and newer "
                "can); record without filters");
  }
  if (ranges.size() > available) {
    return fail(ErrorCode::unsupported, "this processor has " + std::to_string(available) +
                                            " address filters, not " +
                                            std::to_string(ranges.size()));
  }
  std::string text;
  for (const FilterRange& range : ranges) {
    if (auto error = bad_range(range)) return std::unexpected(std::move(*error));
    if (!text.empty()) text += ' ';
    text += "filter " + hex(range.start) + "/" + hex(range.size) + "@" + range.object;
  }
  return text;
}

perfdata::PtConfig describe_pt(const PtPmu& pmu, const perf_event_attr& attr) {
  perfdata::PtConfig config;
  config.pmu_type = pmu.type;
  config.config = attr.config;
  config.tsc_bit = field_mask(pmu, "tsc");
  config.noretcomp_bit = field_mask(pmu, "noretcomp");
  config.mtc_bit = field_mask(pmu, "mtc");
  config.mtc_freq_bits = field_mask(pmu, "mtc_period");
  config.cyc_bit = field_mask(pmu, "cyc");
  config.tsc_ctc_n = pmu.caps.tsc_art_numerator;
  config.tsc_ctc_d = pmu.caps.tsc_art_denominator;
  config.max_nonturbo_ratio = pmu.caps.max_nonturbo_ratio;
  return config;
}

}  // namespace hodo::capture
