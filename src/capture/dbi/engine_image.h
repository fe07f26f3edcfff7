// The engine's program file, and how it gets into a process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/relay/engine_start.h"

namespace hodo::capture {

// Where in the engine the recorder sends threads and finds them: engine/attach.h, engine/leave.h.
struct EngineEntries {
  std::uint64_t attach = 0, begin = 0;
  std::uint64_t leaving = 0, parked = 0, call_done = 0, leave_call = 0;
  std::uint64_t area_bytes = 0, area_native = 0;
  std::uint64_t give_back = 0, unmap = 0, unmapped = 0, stopped = 0;
};

class EngineImage {
 public:
  // Errors: io, malformed (no program that hodo has built).
  static Result<EngineImage> load(const std::string& path);

  // Starts the engine in a process that the caller holds in a ptrace-stop in front of a program's
  // first instruction: it goes on there once the caller lets go of it. `info.entry` is filled in.
  // Errors, after which the process is as it was: unsupported (not a 64-bit program, or one that
  // lies where the engine belongs), io.
  Status start_in(pid_t pid, relay::StartInfo info) const;

  // Of a process that runs: what is to be mapped there, and how it is filled.
  std::uint64_t begin() const { return low_; }
  std::uint64_t bytes() const { return high_ - low_; }
  bool write_into(pid_t pid, const relay::StartInfo& info) const;
  // Whether the process has this engine with this key.
  bool is_in(pid_t pid, const relay::Key& key) const;
  const EngineEntries& entries() const { return entries_; }
  // Of the thread whose area this address is in, as its stack pointer while it is in the engine's
  // own code. False: nothing can be read there.
  bool read_native(pid_t pid, std::uint64_t in_area, relay::NativeThread& native) const;

 private:
  struct Segment {
    std::uint64_t address = 0;
    std::vector<char> bytes;
  };
  std::vector<Segment> segments_;
  std::uint64_t low_ = 0, high_ = 0;  // all of it, in whole pages
  std::uint64_t entry_ = 0, start_info_ = 0;
  EngineEntries entries_;
};

}  // namespace hodo::capture
