// Writes a perf.data file as `perf record --per-thread` lays it out for an intel_pt or intel_bts
// event or for samples with branch stacks, streaming: what has been flushed survives the death of
// the recorder.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/perfdata/kernel_symbols.h"
#include "hodo/perfdata/model.h"
#include "hodo/perfdata/reader.h"
#include "hodo/perfdata/records.h"

namespace hodo::perfdata {

// The two events of a trace: the PMU's own (ids {1}) and a dummy one (ids {2}) that carries COMM,
// MMAP2, FORK and EXIT. User space only unless `kernel`.
std::vector<Attr> pt_attrs(const PtConfig& config, bool kernel = false);

// The same for intel_bts.
std::vector<Attr> bts_attrs(std::uint32_t pmu_type, bool kernel = false);
// Samples with a branch stack (PERF_SAMPLE_BRANCH_STACK, any branch of user space) after every
// `period` branches (PERF_COUNT_HW_BRANCH_INSTRUCTIONS), and the tracking event.
std::vector<Attr> stack_attrs(std::uint64_t period);

// The type that hodo's own BTS recordings give the intel_bts PMU.
inline constexpr std::uint32_t kBtsPmuTypeDefault = 9;

struct WriterOptions {
  // What AUXTRACE_INFO says; none, branch_stacks: the file has no AUX data, and no such record.
  TraceKind trace = TraceKind::intel_pt;
  // Empty: pt_attrs(pt) or bts_attrs(pt.pmu_type). The first is the traced event, the last the
  // tracking one. All must have sample_id_all and the same sample_type with PERF_SAMPLE_IDENTIFIER
  // (BRANCH_STACK may differ), or create() says usage.
  std::vector<Attr> attrs;
  PtConfig pt;
  std::vector<std::string> cmdline;  // of the recorder, argv[0] first
  std::string version;               // "hodoscope 0.1.0"
  std::optional<ClockData> clock;
  bool keep_old = true;  // an existing non-empty file becomes PATH.old, as perf does
};

// The who and when of one record. Ids are added by Writer.
struct Stamp {
  std::int32_t pid = 0;
  std::int32_t tid = 0;
  std::uint64_t time = 0;  // ns
  std::uint32_t cpu = 0;
};

// Every function returns io or no_space from the operating system, maybe for what an earlier one
// was given (flush() waits for all); after the first such error all of them return it again, the
// file ends behind a whole record, and finish() leaves the mark of a complete recording away.
// `usage`: a record that cannot be written (longer than 65,528 bytes). Not thread-safe.
class Writer {
 public:
  struct Impl;  // of the implementation
  // Creates the file (mode 0600) and writes the header, AUXTRACE_INFO, TIME_CONV and, for readers
  // of a file that is cut off, who records what and where (HEADER_FEATURE). not_permitted,
  // not_found, io, no_space.
  static Result<Writer> create(const std::string& path, WriterOptions options);

  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  ~Writer();  // without finish(): flushes, and leaves the file unfinished

  const std::string& path() const;      // absolute
  std::uint64_t bytes_written() const;  // size of the file so far, unflushed records included

  Status comm(const Comm& comm, const Stamp& stamp);
  // Paths longer than a record can hold are cut. A build-id goes into the table of finish() too.
  Status mmap(const Mmap& mmap, const Stamp& stamp);
  Status fork(const Task& task, const Stamp& stamp);
  Status exit(const Task& task, const Stamp& stamp);
  Status itrace_start(const ItraceStart& start, const Stamp& stamp);
  Status aux(const Aux& aux, const Stamp& stamp);
  Status lost(std::uint64_t count, const Stamp& stamp);
  Status switch_(const Switch& change, const Stamp& stamp);
  // A sample with a branch stack, newest first, of events made by stack_attrs(). `bytes` are struct
  // perf_branch_entry as the kernel has them.
  Status branch_stack(std::uint64_t ip, std::span<const std::uint8_t> entries, const Stamp& stamp);

  // Keeps code that is in no file: the bytes that process stamp.pid has at `address` from
  // stamp.time on, in as many TEXT_POKE records as it takes, each followed by an MMAP2 that shows
  // perf the bytes where they lie in this very file. stamp.pid -1 is the kernel, whose code perf
  // takes from TEXT_POKE itself, within what ksymbol() has named.
  Status code(std::uint64_t address, std::span<const std::uint8_t> bytes, const Stamp& stamp);

  // Keeps a file that will be gone: finish() writes it. `offset` and `size` of `file` are ignored.
  void whole_file(const WholeFile& file, std::span<const std::uint8_t> bytes);

  // Names kernel code whose bytes code() brings, at most 4 GiB of it
  // (PERF_RECORD_KSYMBOL_TYPE_OOL, "out of line": perf expects no file behind it).
  Status ksymbol(const KernelSymbol& symbol, const Stamp& stamp);

  // AUX bytes of buffer `where.idx` (size and data of `where` are ignored), from one or more
  // places, as one AUXTRACE record. They end with a whole packet or record: perf does not put
  // together what lies in two AUXTRACE records. Zeros are added: up to 7 bytes (PT: PAD packets)
  // or, for BTS, a null record, since perf's loop (intel_bts_process_buffer) stops before the last
  // one. auxtrace_size() tells how many bytes of the stream it takes.
  Status auxtrace(const Auxtrace& where, std::span<const std::span<const std::uint8_t>> pieces);

  std::uint64_t auxtrace_size(std::uint64_t bytes) const;

  Status finished_round();
  Status finished_init();
  // Whole records as the kernel put them into a ring buffer.
  Status raw(std::span<const std::uint8_t> records);

  // All records so far are in the file and the header says so.
  Status flush();
  // Feature sections, the mark of a complete recording with `summary` in it, and closes the file.
  Status finish(std::string_view summary);

 private:
  explicit Writer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hodo::perfdata
