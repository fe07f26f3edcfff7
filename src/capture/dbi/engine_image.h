// The engine's program file, and how it gets into a process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/relay/engine_start.h"

namespace hodo::capture {

class EngineImage {
 public:
  // Errors: io, malformed (no program that hodo has built).
  static Result<EngineImage> load(const std::string& path);

  // Starts the engine in a process that the caller holds in a ptrace-stop in front of a program's
  // first instruction: it goes on there once the caller lets go of it. `info.entry` is filled in.
  // Errors, after which the process is as it was: unsupported (not a 64-bit program, or one that
  // lies where the engine belongs), io.
  Status start_in(pid_t pid, relay::StartInfo info) const;

 private:
  struct Segment {
    std::uint64_t address = 0;
    std::vector<char> bytes;
  };
  std::vector<Segment> segments_;
  std::uint64_t low_ = 0, high_ = 0;  // all of it, in whole pages
  std::uint64_t entry_ = 0, start_info_ = 0;
};

}  // namespace hodo::capture
