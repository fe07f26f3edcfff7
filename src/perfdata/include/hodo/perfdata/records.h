// The records of a perf.data file as typed views: what the kernel wrote (include/uapi/linux/
// perf_event.h, Linux 6.1) and what `perf record` adds (tools/lib/perf/include/perf/event.h).
//
// Views (string_view, span, PackedArray) point into the record's bytes and live as long as those
// do. The same structs describe a record to Writer. Times are perf time: nanoseconds of the event's
// clock. Addresses and sizes are bytes.
#pragma once

#include <linux/perf_event.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

#include "hodo/base/result.h"

namespace hodo::perfdata {

enum class RecordType : std::uint32_t {
  mmap = 1,
  lost = 2,
  comm = 3,
  exit = 4,
  throttle = 5,
  unthrottle = 6,
  fork = 7,
  read = 8,
  sample = 9,
  mmap2 = 10,
  aux = 11,
  itrace_start = 12,
  lost_samples = 13,
  switch_ = 14,
  switch_cpu_wide = 15,
  namespaces = 16,
  ksymbol = 17,
  bpf_event = 18,
  cgroup = 19,
  text_poke = 20,
  aux_output_hw_id = 21,
  // from here on written by the perf tool, not by the kernel: no sample-id trailer
  header_attr = 64,
  header_event_type = 65,
  header_tracing_data = 66,
  header_build_id = 67,
  finished_round = 68,
  id_index = 69,
  auxtrace_info = 70,
  auxtrace = 71,
  auxtrace_error = 72,
  thread_map = 73,
  cpu_map = 74,
  stat_config = 75,
  stat = 76,
  stat_round = 77,
  event_update = 78,
  time_conv = 79,
  header_feature = 80,
  compressed = 81,
  finished_init = 82,
};
// As `perf script -D` prints it without "PERF_RECORD_": "MMAP2", "SWITCH_CPU_WIDE"; "" if unknown.
std::string_view name(RecordType type);

// A read-only array of T at any alignment in a record.
template <class T>
class PackedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PackedArray() = default;
  // `bytes.size()` must be a multiple of sizeof(T).
  explicit PackedArray(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::size_t size() const { return bytes_.size() / sizeof(T); }
  bool empty() const { return bytes_.empty(); }
  T operator[](std::size_t i) const {
    T value;
    std::memcpy(&value, bytes_.data() + i * sizeof(T), sizeof(T));
    return value;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

// Who, where and when: the trailer of every kernel record (sample_id_all), or the same fields of a
// SAMPLE. Absent fields are nullopt or -1.
struct SampleId {
  std::int32_t pid = -1;
  std::int32_t tid = -1;
  std::optional<std::uint64_t> time;
  std::optional<std::uint64_t> id;  // PERF_SAMPLE_ID or PERF_SAMPLE_IDENTIFIER
  std::optional<std::uint64_t> stream_id;
  std::int32_t cpu = -1;
};

struct BuildId {
  std::array<std::uint8_t, 20> bytes{};
  std::uint8_t size = 0;  // 0: unknown; a GNU build-id has 20, an MD5 or UUID 16, ...
  std::span<const std::uint8_t> view() const { return {bytes.data(), size}; }
  bool operator==(const BuildId&) const = default;
};

// MMAP and MMAP2. A mapping of code, or of data where `data` is set.
struct Mmap {
  std::int32_t pid = -1;  // -1: the kernel
  std::int32_t tid = -1;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t file_offset = 0;   // pgoff, in bytes
  std::string_view path;           // or "//anon", "[vdso]", "[kernel.kallsyms]_text", ...
  std::uint32_t prot = 0;          // PROT_*; MMAP (1) has none: PROT_EXEC unless `data`
  std::uint32_t flags = 0;         // MAP_*
  std::uint32_t maj = 0, min = 0;  // device; absent in the build-id form
  std::uint64_t inode = 0;
  std::uint64_t inode_generation = 0;
  BuildId build_id;   // size != 0: the build-id form of MMAP2
  bool data = false;  // PERF_RECORD_MISC_MMAP_DATA: not executable
  bool mmap2 = true;
};

struct Comm {
  std::int32_t pid = -1, tid = -1;
  std::string_view comm;
  bool exec = false;  // PERF_RECORD_MISC_COMM_EXEC: the process runs a new program from here on
};

// FORK and EXIT. A FORK with pid == ppid is a new thread.
struct Task {
  std::int32_t pid = -1, ppid = -1, tid = -1, ptid = -1;
  std::uint64_t time = 0;
};

struct Lost {
  std::uint64_t id = 0, count = 0;
};  // records that found no room in the ring
struct LostSamples {
  std::uint64_t count = 0;
};
struct Throttle {
  std::uint64_t time = 0, id = 0, stream_id = 0;
};

// SWITCH (next_prev_* = -1) and SWITCH_CPU_WIDE. The task itself is in the sample id.
struct Switch {
  bool out = false;                                     // PERF_RECORD_MISC_SWITCH_OUT
  bool preempt = false;                                 // it still wanted to run
  std::int32_t next_prev_pid = -1, next_prev_tid = -1;  // out: who is next; in: who was before
};

struct ItraceStart {
  std::int32_t pid = -1, tid = -1;
};

// A piece of AUX data became available in the ring.
struct Aux {
  std::uint64_t offset = 0;  // in the stream of all AUX bytes of this buffer
  std::uint64_t size = 0;
  std::uint64_t flags = 0;  // PERF_AUX_FLAG_*
};

struct AuxOutputHwId {
  std::uint64_t hw_id = 0;
};
struct Namespaces {
  std::int32_t pid = -1, tid = -1;
  PackedArray<std::array<std::uint64_t, 2>> links;  // {device, inode} by PERF NS index
};
struct Ksymbol {
  std::uint64_t address = 0;
  std::uint32_t size = 0;
  std::uint16_t type = 0, flags = 0;
  std::string_view name;
};
struct BpfEvent {
  std::uint16_t type = 0, flags = 0;
  std::uint32_t id = 0;
  std::span<const std::uint8_t> tag;
};
struct Cgroup {
  std::uint64_t id = 0;
  std::string_view path;
};

// Bytes at `address` became `new_bytes`. The kernel reports its own text (cpumode kernel); a
// hodoscope recording keeps user code that is in no file this way, cpumode user, process in the id.
struct TextPoke {
  std::uint64_t address = 0;
  std::span<const std::uint8_t> old_bytes, new_bytes;
};

// struct perf_branch_entry: newest first.
struct BranchEntry {
  std::uint64_t from = 0, to = 0, flags = 0;
  bool mispredicted() const { return flags & 1; }
  bool predicted() const { return flags & 2; }
  bool in_tx() const { return flags & 4; }
  bool abort() const { return flags & 8; }
  std::uint16_t cycles() const { return (flags >> 4) & 0xffff; }
  std::uint8_t type() const { return (flags >> 20) & 0xf; }  // PERF_BR_*
  std::uint8_t spec() const { return (flags >> 24) & 3; }    // PERF_BR_SPEC_*
  // PERF_BR_SPEC_WRONG_PATH: the processor had only foreseen the branch.
  bool wrong_path() const { return spec() == 1; }
};

// A SAMPLE, as far as its event's sample_type goes.
struct Sample {
  SampleId id;
  std::optional<std::uint64_t> ip, address, period;
  std::span<const std::uint8_t> read;  // PERF_SAMPLE_READ, raw
  PackedArray<std::uint64_t> callchain;
  std::span<const std::uint8_t> raw;
  bool has_branches = false;
  std::optional<std::uint64_t> branch_hw_index;  // PERF_SAMPLE_BRANCH_HW_INDEX; -1: unknown
  PackedArray<BranchEntry> branches;
  std::uint64_t user_regs_abi = 0, intr_regs_abi = 0;
  PackedArray<std::uint64_t> user_regs, intr_regs;  // in order of the attr's mask bits
  std::span<const std::uint8_t> user_stack;
  std::optional<std::uint64_t> weight, data_src, transaction, physical_address, cgroup;
  std::optional<std::uint64_t> data_page_size, code_page_size;
  std::span<const std::uint8_t> aux;  // PERF_SAMPLE_AUX: AUX bytes inside the sample
};

// AUXTRACE_INFO. type 1: Intel PT, 2: Intel BTS. The words' meaning: model.h, PtConfig.
inline constexpr std::uint32_t kAuxtraceIntelPt = 1;
inline constexpr std::uint32_t kAuxtraceIntelBts = 2;
struct AuxtraceInfo {
  std::uint32_t type = 0;
  PackedArray<std::uint64_t> words;
  std::span<const std::uint8_t> bytes;  // the same words as bytes
};

// AUXTRACE: `size` bytes of AUX data follow the record in the file.
struct Auxtrace {
  std::uint64_t size = 0;    // multiple of 8: up to 7 zero bytes of padding are included
  std::uint64_t offset = 0;  // of the first byte in the stream of all AUX bytes of this buffer
  // The TSC when the data was read: perf takes from it the top byte that TSC packets lack. One
  // value per snapshot. 0 when writing: the time of the newest record.
  std::uint64_t reference = 0;
  std::uint32_t idx = 0;          // which buffer
  std::int32_t tid = -1;          // of a per-thread buffer
  std::int32_t cpu = -1;          // of a per-cpu buffer
  std::uint64_t data_offset = 0;  // in the file (0 when writing)
  std::uint64_t data_size = 0;    // less than `size` where the file is cut off (0 when writing)
  // Written by hodo: the sums of so many bytes each lie between this record's fields and the data.
  std::uint32_t sum_block = 0;    // 0: none (0 when writing)
  std::uint64_t sums_offset = 0;  // in the file (0 when writing)
};

struct AuxtraceError {
  std::uint32_t type = 0, code = 0, cpu = 0, pid = 0, tid = 0;
  std::uint64_t ip = 0, time = 0;
  std::string_view message;
};

// TIME_CONV: ns = zero + (tsc * mult >> shift); see model.h, TimeConversion.
struct TimeConv {
  std::uint64_t shift = 0, mult = 1, zero = 0;
  std::uint64_t cycles = 0, mask = 0;
  bool cap_user_time_zero = true, cap_user_time_short = false;
};

struct ThreadMapEntry {
  std::uint64_t pid;
  std::array<char, 16> comm;
};
struct ThreadMap {
  PackedArray<ThreadMapEntry> threads;
};
struct CpuMap {
  std::uint16_t type = 0;
  std::span<const std::uint8_t> data;
};
struct IdIndexEntry {
  std::uint64_t id, idx, cpu, tid;
};
struct IdIndex {
  PackedArray<IdIndexEntry> entries;
};
struct EventUpdate {
  std::uint64_t type = 0, id = 0;
  std::span<const std::uint8_t> data;
};
struct HeaderAttr {
  perf_event_attr attr{};
  PackedArray<std::uint64_t> ids;
};
struct HeaderBuildId {
  std::int32_t pid = -1;
  BuildId build_id;
  std::string_view path;
};
struct HeaderFeature {
  std::uint64_t feature = 0;
  std::span<const std::uint8_t> data;
};
struct Compressed {
  std::span<const std::uint8_t> data;
};
struct FinishedRound {};  // no record after this one is older than those before the last such one
struct FinishedInit {};
struct Other {
  std::span<const std::uint8_t> payload;
};  // known by number at best

using Body = std::variant<Other, Mmap, Comm, Task, Lost, LostSamples, Throttle, Switch, ItraceStart,
                          Aux, AuxOutputHwId, Namespaces, Ksymbol, BpfEvent, Cgroup, TextPoke,
                          Sample, AuxtraceInfo, Auxtrace, AuxtraceError, TimeConv, ThreadMap,
                          CpuMap, IdIndex, EventUpdate, HeaderAttr, HeaderBuildId, HeaderFeature,
                          Compressed, FinishedRound, FinishedInit>;

// A record as it lies in the file.
struct RawRecord {
  RecordType type{};
  std::uint16_t misc = 0;     // PERF_RECORD_MISC_*
  std::uint64_t offset = 0;   // of its header in the file; of the COMPRESSED record it came out of
  bool decompressed = false;  // `bytes` are not in the file
  std::span<const std::uint8_t> bytes;  // header included
  std::uint64_t trailing = 0;  // AUXTRACE: bytes of AUX data that lie in the file behind the record
};

struct Record {
  RawRecord raw;
  SampleId id;  // of kernel records other than SAMPLE, where the event has sample_id_all
  Body body;
};

// The event attribute that governs a record's layout, by id; see Reader::attr_of.
struct Layout {
  std::uint64_t sample_type = 0;
  std::uint64_t read_format = 0;
  std::uint64_t branch_sample_type = 0;
  std::uint64_t sample_regs_user = 0, sample_regs_intr = 0;
  bool sample_id_all = false;
};
Layout layout_of(const perf_event_attr& attr);

// Takes a record apart. `malformed` (with the record's offset) where its own lengths contradict its
// size; types that this header does not know come back as Other.
Result<Record> parse(const RawRecord& raw, const Layout& layout);

}  // namespace hodo::perfdata
