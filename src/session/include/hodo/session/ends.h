// How the processes of a recording ended, where its recorder was hodo and knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hodo::session {

// An access to memory that raised a signal.
struct Fault {
  enum class Access : std::uint8_t { read, write, execute };
  Access access = Access::read;
  std::uint64_t address = 0;
  bool mapped = false;  // there was something
};

struct ProcessEnd {
  std::int32_t pid = 0;
  std::string comm;                 // raw; empty where the recorder did not know it
  bool command = false;             // the process that the recorder started
  std::uint64_t time = 0;           // ns; 0: unknown
  int exit_status = -1;             // -1: it did not exit
  int signal = 0;                   // that ended it; with neither nobody knows, as after SIGKILL
  std::int32_t tid = 0;             // which thread took the signal, or exited for all; 0: unknown
  std::optional<std::uint64_t> ip;  // where that was then, if known
  std::optional<Fault> fault = {};  // that raised the signal, if one did, and it is known
};

}  // namespace hodo::session
