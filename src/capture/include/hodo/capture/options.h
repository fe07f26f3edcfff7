// What a user asks of a recording, independent of the source that carries it out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hodo::capture {

// What records. bts and lbr: the processor where the kernel offers it, else QEMU's trace unit.
enum class SourceKind : std::uint8_t { automatic, pt, bts, lbr, qemu, dbi, step };

// Whose branches are recorded. Everything but `user` needs privileges.
enum class Level : std::uint8_t { user, kernel, both };

// One --filter range, resolved to file offsets by the command line (as perf's address filters are):
// `start`..`start+size` within `object` (a path), or absolute addresses when object is empty.
struct FilterRange {
  std::string object;
  std::uint64_t start = 0;
  std::uint64_t size = 0;
};

// The knobs of an Intel PT recording, as perf names them (intel_pt//'s format directory).
struct PtOptions {
  bool branch = true;
  bool tsc = true;
  bool mtc = true;
  bool cyc = false;
  bool return_compression = true;  // `noretcomp` inverted
  std::uint8_t mtc_period = 3;     // 2^N crystal clocks
  std::uint8_t cyc_thresh = 0;
  std::uint8_t psb_period = 3;  // 2^(N+11) bytes: 3 = 16 KiB

  bool operator==(const PtOptions&) const = default;
};

struct RecordOptions {
  SourceKind source = SourceKind::automatic;
  std::string output = "hodo.data";
  std::vector<std::string> command;  // empty with `pids`
  std::vector<int> pids;             // processes that run already
  std::vector<int> threads;          // of these; empty: all of their threads
  std::uint64_t duration = 0;        // ns after which the recording of `pids` ends; 0: no limit
  PtOptions pt;
  Level level = Level::user;
  std::vector<FilterRange> filters;  // at most four, as the hardware has
  std::uint64_t max_size = 0;        // bytes of output after which recording stops; 0: no limit
  bool follow_children = true;
  bool wait_all = false;  // record all that the command started to its end. QEMU only
  std::uint64_t sample_period = 10'007;  // lbr: branches from one branch stack to the next
  bool snapshot = false;                 // keep only the newest part of the trace
  std::uint64_t buffer_size = 0;         // bytes per AUX buffer; 0: the source's default
  std::uint64_t cache_size = 0;          // bytes for code of each process, engine only; 0: usual
  std::string recorder;                  // who records, for the file's header: "hodoscope 0.1.0"
  int end_fd = -1;        // bytes come here when the program shall be killed; -1: never. QEMU only
  std::string debug_log;  // directory for the independent watcher's log; empty: off
  // Told before the program starts, a line each, why it will be much slower than could be; may be
  // empty.
  std::function<void(std::string_view)> notice;
};

// A program has written over the memory that a thread's trace is handed over in: what is behind
// `offset` of its stream cannot be trusted, and is not in the file.
struct OverwrittenChannel {
  std::int32_t pid = 0, tid = 0;
  std::uint64_t offset = 0;
  std::uint64_t time = 0;  // ns
  std::string what;        // was found, in words
};

// An access to memory that raised a signal.
struct Fault {
  std::string_view access;  // "read", "write" or "execute"
  std::uint64_t address = 0;
  bool mapped = false;  // there is something
};

// How a process ended, as far as the recorder knows.
struct ProcessEnd {
  std::int32_t pid = 0;
  std::string name;
  bool command = false;  // the one that hodo started
  std::uint64_t time = 0;
  int exit_status = -1;             // -1: a signal ended it, or nobody knows
  int signal = 0;                   // 0: none, or nobody knows
  std::int32_t tid = 0;             // which thread took the signal, or exited for all; 0: unknown
  std::optional<std::uint64_t> ip;  // where it was then; in a system call, or nobody knows: none
  std::optional<Fault> fault =
      {};  // that raised the signal; none: no access to memory did, or nobody knows
};

// What a recording came to; the command turns it into its last lines and exit status.
// What the engine's code cache took, of all processes that ended by themselves: relay::CacheRecord.
struct CacheUse {
  std::uint64_t code = 0, made = 0, editions = 0;
  std::uint64_t most = 0;  // the largest
};

struct RecordResult {
  int exit_status = 0;  // the program's own, shell convention (128 + signal)
  std::uint64_t trace_bytes = 0;
  std::uint64_t overflows = 0;  // gaps in the trace because data could not be written
  bool complete = true;         // false: the file lacks data that the program made
  std::uint32_t threads = 0;
  std::uint32_t processes = 0;
  CacheUse cache;                               // of the engine
  std::vector<std::string> warnings;            // each a complete line: what is missing and why
  std::vector<OverwrittenChannel> overwritten;  // the first ones
  std::vector<ProcessEnd> ends;                 // likewise
  std::vector<ProcessEnd> thread_ends;          // of threads that were killed alone: `tid`, no name
  // The same of programs that ran, or ran on, without being recorded; kept in the file, too.
  std::vector<std::string> unrecorded;
};

}  // namespace hodo::capture
