// What a recording says beside its branches: what was run where, which processes and threads there
// were, and how they ended. Strings are as recorded, any bytes: not yet printable. Times are those
// of perf's clock, in nanoseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/session/ends.h"

namespace hodo::session {

// What the branches of an input come from.
enum class TraceKind : std::uint8_t {
  none,
  pt,      // Intel PT packets: all branches
  bts,     // BTS records: all that were taken
  stacks,  // branch stacks, of samples or of LBR registers: windows of a few branches each
};

inline constexpr std::uint64_t kForever = ~std::uint64_t{0};
inline constexpr std::uint32_t kNoProcess = ~std::uint32_t{0};

struct Thread {
  std::int32_t pid = -1, tid = -1;
  std::uint64_t start = 0, end = kForever;  // 0: before the recording, or unknown
  std::string comm;                         // the name that it had last
};

// One life of a process number: one that is used again makes a second Process.
struct Process {
  std::int32_t pid = -1, ppid = -1;
  std::uint64_t start = 0, end = kForever;
  std::vector<std::uint32_t> threads;  // indices of Facts::threads, the leader first if known
  std::string comm;                    // of the leader, at the end
};

struct Facts {
  std::vector<std::string> command;  // of the recorder
  std::string recorder;              // who recorded, with its version
  std::string hostname, osrelease, arch, cpudesc;
  std::uint32_t cpus = 0;  // 0: unknown

  std::uint64_t first_time = 0;  // of all records; 0: there is none
  std::uint64_t last_time = 0;
  std::uint64_t wall_clock = 0;  // when the first record was written, since 1970; 0: unknown
  bool finished = true;          // nothing is cut off
  bool growing = false;          // not finished: it was still being recorded when it was opened
  std::uint64_t bytes = 0;       // of the file's records
  bool snapshot = false;         // only the newest part of the trace was to be kept
  bool switches = false;         // it says who ran on a processor when
  std::uint64_t stacks = 0;      // samples that hold a branch stack

  std::vector<Process> processes;  // by Context::space, in order of appearance
  std::vector<Thread> threads;
  std::vector<ProcessEnd> ends;  // where the recorder was hodo
  // Of threads that were killed alone while their process went on, as far as somebody looked:
  // `tid`, and no times.
  std::vector<ProcessEnd> thread_ends;
};

// A function of a kernel that was recorded, or data of it that leads to one.
struct KernelSymbol {
  std::uint64_t address = 0, size = 0;
  std::string name;  // of a module's function: "NAME [MODULE]"; of data: "SYMBOL+0xOFFSET"
};

}  // namespace hodo::session
