// How the processes of a recording ended, where its recorder was hodo and knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hodo::session {

struct ProcessEnd {
  std::int32_t pid = 0;
  std::string comm;                 // raw; empty where the recorder did not know it
  bool command = false;             // the process that the recorder started
  std::uint64_t time = 0;           // ns; 0: unknown
  int exit_status = -1;             // -1: it did not exit
  int signal = 0;                   // that ended it; with neither nobody knows, as after SIGKILL
  std::int32_t tid = 0;             // which thread took the signal, or exited for all; 0: unknown
  std::optional<std::uint64_t> ip;  // where that was then, if known
};

}  // namespace hodo::session
