// Opens a perf.data file: its header, events, facts about the machine, and its records in file
// order. The file is read in pieces, never slurped; it may be larger than memory, cut off anywhere,
// or hostile. If it is shortened while it is open, what is gone is damage or an error like any
// other.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/perfdata/records.h"

namespace hodo::perfdata {

// A place where the file breaks its own format or ends early, and what that cost.
struct Damage {
  std::uint64_t offset = 0;  // in the file
  std::string what;          // one line
};

struct Attr {
  perf_event_attr attr{};
  std::vector<std::uint64_t> ids;
  std::string name;  // "intel_pt//u"; "" where the file does not say
};

struct FileBuildId {
  std::string path;
  BuildId build_id;
  std::int32_t pid = -1;
  std::uint16_t misc = 0;  // cpumode
};

struct ClockData {
  std::uint32_t clockid = 0;
  std::uint64_t wall_clock_ns = 0;  // gettimeofday and
  std::uint64_t clockid_ns = 0;     // the event clock at the same moment
};

struct SampleTime {
  std::uint64_t first = 0, last = 0;
};  // perf time of the records, ns

// Bits of the header's feature mask (tools/perf/util/header.h).
enum class Feature : std::uint8_t {
  tracing_data = 1,
  build_id,
  hostname,
  osrelease,
  version,
  arch,
  nrcpus,
  cpudesc,
  cpuid,
  total_mem,
  cmdline,
  event_desc,
  cpu_topology,
  numa_topology,
  branch_stack,
  pmu_mappings,
  group_desc,
  auxtrace,
  stat,
  cache,
  sample_time,
  mem_topology,
  clockid,
  dir_format,
  bpf_prog_info,
  bpf_btf,
  compressed,
  cpu_pmu_caps,
  clock_data,
  hybrid_topology,
  pmu_caps,
  // hodoscope's own: files whose code ran and that were gone when the recording ended.
  whole_files = 253,
  // hodoscope's own: the sum of all records (Model: damages).
  records_sum = 254,
  // hodoscope's own: free bytes (a JSON summary). Its presence says that the recording is complete.
  hodoscope = 255,
};

// A file that the recording holds as a whole, since it was gone when the recording ended.
struct WholeFile {
  std::string path;  // as mappings name it
  std::uint64_t inode = 0;
  BuildId build_id;          // size 0: it has none
  std::uint64_t offset = 0;  // of its bytes in the perf.data file: Reader::read()
  std::uint64_t size = 0;
};

// What the feature sections say about the machine and the recording; absent ones are empty.
struct FileFacts {
  std::string hostname, osrelease, version, arch, cpudesc, cpuid;
  std::optional<std::uint32_t> cpus_available, cpus_online;
  std::optional<std::uint64_t> total_mem_kib;
  std::vector<std::string> cmdline;
  std::vector<FileBuildId> build_ids;
  std::optional<SampleTime> sample_time;
  std::optional<std::uint64_t> clock_resolution_ns;
  std::optional<ClockData> clock;
  std::map<std::uint32_t, std::string> pmus;  // type -> name
  // CRC-32C of all records in the order of the file, without trace data.
  std::optional<std::uint32_t> records_sum;
  std::vector<WholeFile> whole_files;
  // Every section by feature bit, also the ones that are taken apart above, but for the whole
  // files; as long as the Reader.
  std::map<std::uint8_t, std::span<const std::uint8_t>> sections;
};

class Cursor;

class Reader {
 public:
  struct Impl;  // of the implementation
  // io, not_permitted, not_found: as the operating system says; unsupported: other byte order, an
  // old version, a directory or a pipe; malformed: no perf.data file; truncated: shorter than its
  // header. Everything else is a Damage and can be read around.
  static Result<Reader> open(const std::string& path);
  // The same for bytes that outlive the Reader and its Cursors.
  static Result<Reader> open_memory(std::span<const std::uint8_t> bytes);

  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  std::uint64_t size() const;  // of the file, in bytes, when it was opened
  // Where the records end that are read.
  std::uint64_t data_end() const;
  // Fills all of `out` with the file's bytes. Errors: io; truncated: the file ends before, or has
  // become shorter since it was opened.
  Status read(std::uint64_t offset, std::span<std::uint8_t> out) const;

  bool pipe_mode() const;
  // False if the recorder did not live to finish the file: the data is read to its end, or
  // to the end of the file where no flush was noted, and facts() is mostly empty.
  bool finished() const;
  // Not finished, as somebody was still recording into it when it was opened: the data is read to
  // where the recorder had flushed it, between two records.
  bool growing() const;
  const std::vector<Attr>& attrs() const;
  const FileFacts& facts() const;
  // What is wrong with the header and the feature sections. Records: Cursor::damages().
  const std::vector<Damage>& damages() const;

  // The layout of a record from its identifier where attrs differ, otherwise the common one.
  Layout layout_of(const RawRecord& raw) const;
  // The event that a record's id belongs to; nullptr if none has it. A sole event owns all records.
  const Attr* attr_of(const SampleId& id) const;

  // A new pass over the records. Cursors are independent of each other; a const Reader may be
  // shared by threads.
  Cursor records() const;

 private:
  friend class Cursor;
  explicit Reader(std::unique_ptr<Impl> impl);
  static Result<Reader> make(std::unique_ptr<Impl> impl);
  static Result<Reader> open_as_is(const std::string& path);
  std::unique_ptr<Impl> impl_;
};

// One pass over the records in file order. COMPRESSED records are replaced by what they hold.
class Cursor {
 public:
  struct Impl;  // of the implementation
  Cursor(Cursor&&) noexcept;
  Cursor& operator=(Cursor&&) noexcept;
  ~Cursor();

  // The next record, or nullopt at the end. Its bytes stay valid until the next call. Damaged
  // stretches are skipped and noted.
  std::optional<RawRecord> next_raw();
  // The next record that can be taken apart; those that cannot are noted as damage.
  std::optional<Record> next();

  // Noted so far; the first kMaxDamages in detail, all of them counted.
  static constexpr std::size_t kMaxDamages = 1000;
  const std::vector<Damage>& damages() const;
  std::uint64_t damage_count() const;

 private:
  friend class Reader;
  explicit Cursor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hodo::perfdata
