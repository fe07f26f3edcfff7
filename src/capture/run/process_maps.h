// What a process has mapped to be executed.
#pragma once

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

}  // namespace hodo::capture
