#include <sys/utsname.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <map>
#include <string>

#include "feature_writer.h"

namespace hodo::perfdata {
namespace {

// "key : value" lines up to the first empty one; of a key that repeats, the first value.
std::map<std::string, std::string> read_fields(const char* path) {
  std::map<std::string, std::string> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line) && !line.empty();) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto key_end = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1);
    const auto value = line.find_first_not_of(" \t", colon + 1);
    out.emplace(line.substr(0, key_end + 1), value == std::string::npos ? "" : line.substr(value));
  }
  return out;
}

void add_cpu(FeatureWriter& out) {
  auto cpu = read_fields("/proc/cpuinfo");
  out.string(Feature::cpudesc, cpu["model name"]);
  out.string(Feature::cpuid, cpu["vendor_id"] + "," + cpu["cpu family"] + "," + cpu["model"] + "," +
                                 cpu["stepping"]);
  out.cpus(static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF))),
           static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))));
}

void add_memory(FeatureWriter& out) {
  const auto total = read_fields("/proc/meminfo")["MemTotal"];  // "16299868 kB"
  std::uint64_t kib = 0;
  const auto parsed = std::from_chars(total.data(), total.data() + total.size(), kib);
  if (parsed.ec == std::errc{}) out.word(Feature::total_mem, kib);
}

}  // namespace

void add_host_features(FeatureWriter& out) {
  utsname names{};
  if (::uname(&names) == 0) {
    out.string(Feature::hostname, names.nodename);
    out.string(Feature::osrelease, names.release);
    out.string(Feature::arch, names.machine);
  }
  add_cpu(out);
  add_memory(out);
}

}  // namespace hodo::perfdata
