// What a perf.data file says once its sideband is put together: which processes and threads lived,
// what was mapped where and when, and where each trace buffer's bytes lie.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/perfdata/reader.h"
#include "hodo/perfdata/records.h"
#include "hodo/perfdata/time_conversion.h"

namespace hodo::perfdata {

inline constexpr std::uint64_t kForever = ~std::uint64_t{0};
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

// How the trace was made: AUXTRACE_INFO (intel_pt_info_fill in perf's tools/perf/arch/x86) together
// with the event's attr.config. A bit that the PMU does not have is 0.
struct PtConfig {
  std::uint32_t pmu_type = 8;
  std::uint64_t config = 0x300e601;  // attr.config: pt, branch, tsc, mtc, periods 3
  std::uint64_t tsc_bit = 1u << 10;
  std::uint64_t noretcomp_bit = 1u << 11;
  std::uint64_t mtc_bit = 1u << 9;
  std::uint64_t mtc_freq_bits = 0xfu << 14;
  std::uint64_t cyc_bit = 1u << 1;
  std::uint32_t tsc_ctc_n = 0;           // CPUID 0x15 EBX; TSC ticks per crystal tick are n / d
  std::uint32_t tsc_ctc_d = 0;           // CPUID 0x15 EAX; 0: unknown
  std::uint32_t max_nonturbo_ratio = 0;  // CBR value of the nominal frequency; 0: unknown
  std::uint32_t have_sched_switch = 0;   // 0 none, 1 sched_switch samples, 2 SWITCH, 3 CPU_WIDE
  bool snapshot = false;
  bool per_cpu = false;  // buffers per cpu, not per thread
  TimeConversion time;
  std::string filter;  // address filters as given to the kernel

  bool has_tsc() const { return tsc_bit && (config & tsc_bit); }
  bool has_mtc() const { return mtc_bit && (config & mtc_bit); }
  bool has_cyc() const { return cyc_bit && (config & cyc_bit); }
  bool return_compression() const { return !(noretcomp_bit && (config & noretcomp_bit)); }
  unsigned mtc_period() const;  // MTCFreq: 2^N crystal ticks per MTC
};

struct File {
  std::string path;
  BuildId build_id;  // from MMAP2 or the header's table; size 0: unknown
  std::uint32_t maj = 0, min = 0;
  std::uint64_t inode = 0;
};

// Code that the recording itself holds.
struct KeptCode {
  std::int32_t pid = -1;  // -1: the kernel
  std::uint64_t address = 0;
  std::uint64_t time = 0;
  std::uint64_t file_offset = 0;        // of the bytes in the perf.data file; 0: only in `bytes`
  std::span<const std::uint8_t> bytes;  // lives as long as the Model
};

// `size` bytes at `address` came from `file` at `file_offset` in [from, until).
struct Mapping {
  std::uint64_t address = 0, size = 0, file_offset = 0;
  std::uint64_t from = 0, until = kForever;  // perf time, ns
  std::uint32_t file = kNone;                // index in Model::files(); also of kept code that
                                             // lies where the file was mapped
  std::uint32_t kept = kNone;                // index in Model::kept(): use these bytes instead;
                                             // the first is kept[i].bytes[kept_offset]
  std::uint64_t kept_offset = 0;
  std::uint32_t prot = 0;
  bool shared = false;     // with the file itself (MAP_SHARED)
  bool executable = true;  // others are here because they end what they cover
  // The thread that was in the system call by which the program got the right to execute this
  // memory, which is in no file, and when, perf time; -1: not known.
  std::int32_t granted_to = -1;
  std::uint64_t granted_at = 0;
};

struct Named {
  std::uint64_t from = 0;
  std::string comm;
  bool exec = false;
};

struct Thread {
  std::int32_t pid = -1, tid = -1;
  std::uint64_t start = 0, end = kForever;  // 0: before the recording or unknown
  std::vector<Named> names;                 // by time
  std::string_view comm() const { return names.empty() ? "" : std::string_view(names.back().comm); }
};

// One life of a pid: a number that is used again makes a second Process.
struct Process {
  std::int32_t pid = -1, ppid = -1;
  std::uint64_t start = 0, end = kForever;
  std::vector<std::uint32_t> threads;  // indices in Model::threads(), leader first if known
  // By `from`; at any time no two overlap. What a parent had mapped at the fork is included, what
  // was there before an exec ends with it.
  std::vector<Mapping> mappings;
  std::string_view comm;  // of the leader, at the end; lives as long as the Model
};

// Where a record has the sums of its trace data (sums.h).
struct AuxSums {
  std::uint64_t offset = 0;        // in the file: one word for each block
  std::uint32_t block = 0;         // bytes of data for each sum; 0: there are none
  std::uint64_t data_offset = 0;   // in the file
  std::uint64_t data_size = 0;     // that are in the file
  std::uint64_t written_size = 0;  // that were written
};

struct AuxPiece {
  std::uint64_t file_offset = 0;  // of the bytes in the perf.data file
  std::uint64_t size = 0;         // padding and what an earlier snapshot has already are cut off
  std::uint64_t aux_offset = 0;   // in the buffer's own stream
  std::uint64_t reference = 0;
  bool gap_before = false;  // does not go on where the piece before ended
  AuxSums sums;
};

struct AuxEvent {
  std::uint64_t time = 0, aux_offset = 0, aux_size = 0;
  std::uint64_t flags = 0;          // PERF_AUX_FLAG_TRUNCATED: data was lost behind aux_offset+size
  std::int32_t pid = -1, tid = -1;  // who ran until then
};

// One AUX buffer: of a thread (cpu = -1) or of a cpu (tid = -1).
struct AuxQueue {
  std::uint32_t idx = 0;
  std::int32_t pid = -1, tid = -1, cpu = -1;
  std::vector<AuxPiece> pieces;   // in stream order
  std::vector<AuxEvent> flagged;  // AUX records with flags, by time
  // Of intel_bts, whose records have no time: every AUX record, by offset. What it covers was
  // executed by its task, at its time at the latest.
  std::vector<AuxEvent> handovers;
  std::uint64_t bytes = 0;      // of all pieces
  std::uint64_t announced = 0;  // end of what AUX records speak of, in the buffer's own stream
};

struct OnCpu {
  std::uint64_t from = 0;
  std::int32_t pid = -1, tid = -1;
};  // -1: unknown, 0: idle
struct LostRecords {
  std::uint64_t time = 0, count = 0;
  std::int32_t cpu = -1;
  std::uint64_t offset = 0;
};

// branch_stacks: there are no trace buffers, but samples that hold a stack of last branches.
enum class TraceKind : std::uint8_t { none, intel_pt, intel_bts, branch_stacks };

class Model {
 public:
  struct Impl;  // of the implementation
  // One pass over the records. `reader` must outlive the Model. Fails only where nothing can be
  // said (no_space: limits against hostile files); damage is in damages().
  static Result<Model> load(const Reader& reader);

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  const Reader& reader() const;
  const FileFacts& facts() const;
  bool finished() const;  // and complete: nothing cut off
  bool growing() const;   // as Reader has it
  TraceKind trace() const;
  const PtConfig& pt() const;  // meaningful for intel_pt; time also for intel_bts
  // From the trace's clock to perf time: TSC for Intel PT. BTS and samples only have perf time.
  TimeConversion trace_clock() const;
  const std::vector<Process>& processes() const;  // in order of appearance
  const std::vector<Thread>& threads() const;
  const std::vector<File>& files() const;
  const std::vector<KeptCode>& kept() const;  // by time
  const std::vector<Mapping>& kernel_mappings() const;
  const std::vector<AuxQueue>& queues() const;                       // by idx
  const std::map<std::int32_t, std::vector<OnCpu>>& on_cpu() const;  // cpu -> timeline
  const std::vector<LostRecords>& lost() const;
  const std::map<RecordType, std::uint64_t>& counts() const;
  const std::vector<Damage>& damages() const;  // header and records
  std::uint64_t damage_count() const;
  std::uint64_t first_time() const;  // of all records, ns; 0 if there is none
  std::uint64_t last_time() const;
  std::uint64_t branch_stacks() const;  // samples that hold one

  // The life of `pid` / `tid` at `time`; the nearest one where none covers it; nullptr if unknown.
  const Process* process_at(std::int32_t pid, std::uint64_t time) const;
  const Thread* thread_at(std::int32_t tid, std::uint64_t time) const;
  // Who ran on `cpu` at `time`; pid -1 where nothing says.
  OnCpu running(std::int32_t cpu, std::uint64_t time) const;

 private:
  friend class ModelBuilder;
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The branch stacks of the SAMPLE records, in file order.
class BranchStacks {
 public:
  explicit BranchStacks(const Reader& reader) : cursor_(reader.records()) {}
  // The next sample that holds a branch stack; views live as with Cursor::next.
  std::optional<Sample> next();

 private:
  Cursor cursor_;
};

}  // namespace hodo::perfdata
