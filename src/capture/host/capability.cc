#include "hodo/capture/capability.h"

#include <linux/capability.h>

#include <cstdlib>
#include <string>

#include "hodo/capture/pmu.h"

namespace hodo::capture {

bool has_capability(int bit) {
  const std::string status = read_small_file("/proc/self/status").value_or("");
  const std::size_t at = status.find("CapEff:");
  if (at == status.npos) return false;
  return std::strtoull(status.c_str() + at + 7, nullptr, 16) >> bit & 1;
}

bool is_perfmon_capable() { return has_capability(CAP_PERFMON) || has_capability(CAP_SYS_ADMIN); }

}  // namespace hodo::capture
