// What a process has mapped to be executed.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "hodo/perfdata/writer.h"

namespace hodo::capture {

struct MapsLine {
  perfdata::Mmap mmap;  // without process and build-id; `path` of MapsLine is its name
  std::string path;     // as the kernel has it there; empty: memory without a file
};

// Of an executable line of /proc/PID/maps; nullopt: of another one.
std::optional<MapsLine> parse_maps_line(const std::string& line);

// A thread of the process that has not ended: its first, if there is no other. Where the first has
// ended /proc/PID and process_vm_readv(2) of its number know no memory, those of the others do.
pid_t living_thread(pid_t pid);

}  // namespace hodo::capture
