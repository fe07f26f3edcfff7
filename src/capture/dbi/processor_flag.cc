#include "processor_flag.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

namespace hodo::capture {

bool processor_has(std::string_view flag) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("flags")) continue;
    return (line + ' ').find(fmt::format(" {} ", flag)) != std::string::npos;
  }
  return false;
}

}  // namespace hodo::capture
