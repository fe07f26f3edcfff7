// What stepping writes to the recording: each thread's BTS records, and the mappings, names and
// lives of the processes, read from /proc where a kernel would report them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/hw/bts.h"
#include "hodo/perfdata/writer.h"
#include "step_code.h"

namespace hodo::capture {

class StepFile {
 public:
  explicit StepFile(perfdata::Writer& writer) : writer_(writer) {}

  // Who steps; the first one of a process, or one behind an exec, gets its mappings reported.
  Status begin_thread(pid_t pid, pid_t tid, pid_t parent_pid, pid_t parent_tid);
  Status exec(pid_t pid, pid_t tid);
  Status end_thread(pid_t pid, pid_t tid);
  // Mappings may have changed.
  Status refresh_mappings(pid_t pid, pid_t tid);
  // The instruction is about to be executed: keeps it if no file has it.
  Status see_code(pid_t pid, pid_t tid, const SteppedInsn& insn);

  Status branch(pid_t pid, pid_t tid, std::uint64_t from, std::uint64_t to);
  // Everything recorded so far becomes part of the file.
  Status flush();

  // Whether a file has the code at `address`.
  bool in_file(pid_t pid, std::uint64_t address) const;

  std::uint64_t trace_bytes() const { return trace_bytes_; }
  std::uint32_t threads() const { return static_cast<std::uint32_t>(streams_.size()); }
  std::uint32_t processes() const { return process_count_; }

 private:
  struct Mapped {
    std::uint64_t start = 0, end = 0;
    std::uint32_t prot = 0;
    bool file = false;
    friend bool operator==(const Mapped&, const Mapped&) = default;
  };
  struct Process {
    std::map<std::uint64_t, Mapped> mapped;                   // by start; executable ones
    std::map<std::uint64_t, std::vector<std::uint8_t>> kept;  // instructions, by address
  };
  struct Stream {
    std::uint32_t idx = 0;
    std::uint64_t offset = 0;
    std::vector<hw::BtsRecord> records;
  };
  Status write_stream(pid_t pid, pid_t tid);
  Status write_name(pid_t pid, pid_t tid, bool exec);
  perfdata::Stamp stamp(pid_t pid, pid_t tid) const;

  perfdata::Writer& writer_;
  std::map<pid_t, Process> processes_;
  std::map<pid_t, Stream> streams_;  // by tid
  std::map<pid_t, pid_t> pids_;      // tid -> pid
  std::map<std::string, std::vector<std::uint8_t>> build_ids_;
  std::uint64_t trace_bytes_ = 0;
  std::uint32_t process_count_ = 0;
};

}  // namespace hodo::capture
