#include "pt_config.h"

#include <bit>
#include <limits>

#include "file_format.h"
#include "hodo/perfdata/writer.h"
#include "parse_common.h"

namespace hodo::perfdata {
namespace {

template <class T>
T narrow(std::uint64_t value) {
  return static_cast<T>(std::min<std::uint64_t>(value, std::numeric_limits<T>::max()));
}

TimeConversion conversion(std::uint64_t shift, std::uint64_t mult, std::uint64_t zero, bool valid) {
  TimeConversion out{narrow<std::uint16_t>(shift), narrow<std::uint32_t>(mult), zero, valid};
  out.valid = valid && shift < 64 && mult != 0 && mult == out.mult;
  return out;
}

}  // namespace

unsigned PtConfig::mtc_period() const {
  if (mtc_freq_bits == 0) return 0;
  return static_cast<unsigned>((config & mtc_freq_bits) >> std::countr_zero(mtc_freq_bits));
}

ByteWriter auxtrace_info_payload(const PtConfig& config) {
  std::uint64_t words[kPtWords] = {};
  words[kPtPmuType] = config.pmu_type;
  words[kPtTimeShift] = config.time.shift;
  words[kPtTimeMult] = config.time.mult;
  words[kPtTimeZero] = config.time.zero;
  words[kPtCapUserTimeZero] = config.time.valid;
  words[kPtTscBit] = config.tsc_bit;
  words[kPtNoRetCompBit] = config.noretcomp_bit;
  words[kPtHaveSchedSwitch] = config.have_sched_switch;
  words[kPtSnapshotMode] = config.snapshot;
  words[kPtPerCpuMmaps] = config.per_cpu;
  words[kPtMtcBit] = config.mtc_bit;
  words[kPtMtcFreqBits] = config.mtc_freq_bits;
  words[kPtTscCtcN] = config.tsc_ctc_n;
  words[kPtTscCtcD] = config.tsc_ctc_d;
  words[kPtCycBit] = config.cyc_bit;
  words[kPtMaxNonTurboRatio] = config.max_nonturbo_ratio;
  words[kPtFilterLength] = config.filter.size();
  ByteWriter out;
  out.u32(kAuxtraceIntelPt).u32(0).put(words);
  if (!config.filter.empty()) out.string(config.filter, 8);
  constexpr std::uint64_t kCapEventTrace = 0;  // the word behind the filter since Linux 5.18
  return std::move(out.u64(kCapEventTrace));
}

Result<PtConfig> pt_config_of(const AuxtraceInfo& info) {
  const auto words = info.words;
  if (words.size() <= kPtPerCpuMmaps) {
    return fail(ErrorCode::malformed, "AUXTRACE_INFO is too short for Intel PT");
  }
  const auto word = [&](PtInfoWord i) { return i < words.size() ? words[i] : 0; };
  PtConfig out;
  out.pmu_type = narrow<std::uint32_t>(word(kPtPmuType));
  out.time = conversion(word(kPtTimeShift), word(kPtTimeMult), word(kPtTimeZero),
                        word(kPtCapUserTimeZero) != 0);
  out.tsc_bit = word(kPtTscBit);
  out.noretcomp_bit = word(kPtNoRetCompBit);
  out.have_sched_switch = narrow<std::uint32_t>(word(kPtHaveSchedSwitch));
  out.snapshot = word(kPtSnapshotMode) != 0;
  out.per_cpu = word(kPtPerCpuMmaps) != 0;
  out.mtc_bit = word(kPtMtcBit);
  out.mtc_freq_bits = word(kPtMtcFreqBits);
  out.tsc_ctc_n = narrow<std::uint32_t>(word(kPtTscCtcN));
  out.tsc_ctc_d = narrow<std::uint32_t>(word(kPtTscCtcD));
  out.cyc_bit = word(kPtCycBit);
  out.max_nonturbo_ratio = narrow<std::uint32_t>(word(kPtMaxNonTurboRatio));
  const auto length = word(kPtFilterLength);
  if (length == 0) return out;
  FieldReader in(info.bytes.subspan(kPtWords * sizeof(std::uint64_t)));
  out.filter = FieldReader::c_string(in.take(length));
  if (!in.ok()) return fail(ErrorCode::malformed, "AUXTRACE_INFO ends inside its filter string");
  return out;
}

Result<PtConfig> bts_config_of(const AuxtraceInfo& info) {
  const auto words = info.words;
  if (words.size() < kBtsWords) {
    return fail(ErrorCode::malformed, "AUXTRACE_INFO is too short for Intel BTS");
  }
  PtConfig out;
  out.config = 0;
  out.pmu_type = narrow<std::uint32_t>(words[kBtsPmuType]);
  out.time = conversion(words[kBtsTimeShift], words[kBtsTimeMult], words[kBtsTimeZero],
                        words[kBtsCapUserTimeZero] != 0);
  out.snapshot = words[kBtsSnapshotMode] != 0;
  return out;
}

ByteWriter bts_info_payload(const PtConfig& config) {
  std::uint64_t words[kBtsWords] = {};
  words[kBtsPmuType] = config.pmu_type;
  words[kBtsTimeShift] = config.time.shift;
  words[kBtsTimeMult] = config.time.mult;
  words[kBtsTimeZero] = config.time.zero;
  words[kBtsCapUserTimeZero] = config.time.valid;
  words[kBtsSnapshotMode] = config.snapshot;
  ByteWriter out;
  out.u32(kAuxtraceIntelBts).u32(0).put(words);
  return out;
}

namespace {

perf_event_attr common_attr(bool kernel) {
  perf_event_attr common{};
  common.size = sizeof(common);
  common.sample_period = 1;
  common.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                       PERF_SAMPLE_IDENTIFIER;
  common.read_format = PERF_FORMAT_ID;
  common.sample_id_all = 1;
  common.exclude_kernel = !kernel;
  common.exclude_hv = 1;
  return common;
}

// The event that carries COMM, MMAP2, FORK and EXIT.
Attr tracking(const perf_event_attr& traced) {
  perf_event_attr dummy = common_attr(traced.exclude_kernel == 0);
  dummy.type = PERF_TYPE_SOFTWARE;
  dummy.config = PERF_COUNT_SW_DUMMY;
  dummy.mmap = dummy.mmap2 = dummy.comm = dummy.comm_exec = dummy.task = 1;
  dummy.ksymbol = dummy.text_poke = traced.exclude_kernel == 0;
  return {dummy, {2}, traced.exclude_kernel != 0 ? "dummy:u" : "dummy"};
}

}  // namespace

std::vector<Attr> pt_attrs(const PtConfig& config, bool kernel) {
  perf_event_attr pt = common_attr(kernel);
  pt.type = config.pmu_type;
  pt.config = config.config;
  pt.disabled = 1;
  Attr dummy = tracking(pt);
  dummy.attr.context_switch = config.have_sched_switch >= 2;
  return {Attr{pt, {1}, kernel ? "intel_pt//" : "intel_pt//u"}, std::move(dummy)};
}

std::vector<Attr> bts_attrs(std::uint32_t pmu_type, bool kernel) {
  perf_event_attr bts = common_attr(kernel);
  bts.type = pmu_type;
  bts.disabled = 1;
  return {Attr{bts, {1}, kernel ? "intel_bts//" : "intel_bts//u"}, tracking(bts)};
}

std::vector<Attr> stack_attrs(std::uint64_t period) {
  perf_event_attr branches = common_attr(false);
  branches.type = PERF_TYPE_HARDWARE;
  branches.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
  branches.sample_period = period;
  branches.sample_type |= PERF_SAMPLE_BRANCH_STACK;
  branches.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
  branches.disabled = 1;
  return {Attr{branches, {1}, "branches:u"}, tracking(branches)};
}

}  // namespace hodo::perfdata
