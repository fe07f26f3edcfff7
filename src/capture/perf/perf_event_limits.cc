#include "perf_event_limits.h"

#include <linux/capability.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>

#include "hodo/capture/capability.h"

namespace hodo::capture {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr std::size_t kDefaultAux = 4 * kMiB;
constexpr std::uint64_t kMaxAux = std::uint64_t{1} << 40;

long read_long(const std::string& path, long otherwise) {
  const auto text = read_small_file(path);
  if (!text || text->empty()) return otherwise;
  char* end = nullptr;
  const long value = std::strtol(text->c_str(), &end, 10);
  return *end == '\0' ? value : otherwise;
}

}  // namespace

MemoryLimits read_memory_limits(const SystemPaths& paths) {
  MemoryLimits limits;
  limits.unlimited =
      has_capability(CAP_IPC_LOCK) || read_long(paths.sys_kernel + "/perf_event_paranoid", 2) < 0;
  const long kib = read_long(paths.sys_kernel + "/perf_event_mlock_kb", 516);
  limits.per_cpu = static_cast<std::uint64_t>(std::max(kib, 0L)) * kKiB;
  rlimit memlock = {};
  if (::getrlimit(RLIMIT_MEMLOCK, &memlock) == 0) limits.shared = memlock.rlim_cur;
  return limits;
}

Result<BufferPlan> plan_buffers(std::uint64_t requested_aux, const MemoryLimits& limits,
                                std::size_t cpus, std::size_t page_size) {
  if (requested_aux > kMaxAux)
    return fail(ErrorCode::usage, "the buffer size is beyond all reason");
  const bool unlimited = limits.unlimited || limits.shared == ~std::uint64_t{0};
  BufferPlan plan;
  plan.data = unlimited ? 512 * kKiB : 128 * kKiB;
  const std::uint64_t wanted =
      std::bit_ceil(std::max<std::uint64_t>(requested_aux ? requested_aux : kDefaultAux, kMinAux));
  plan.aux = wanted;
  if (unlimited) return plan;

  const std::uint64_t share = limits.per_cpu + limits.shared / std::max<std::size_t>(cpus, 1);
  const std::uint64_t fixed = plan.data + page_size;
  if (fixed + wanted <= share) return plan;
  if (requested_aux == 0 && share >= fixed + kMinAux) {
    plan.aux = std::bit_floor(share - fixed);
    return plan;
  }
  const std::uint64_t needed = fixed + (requested_aux == 0 ? kMinAux : wanted);
  return fail(ErrorCode::not_permitted,
              "the buffers need " + std::to_string(needed / kKiB) +
                  " KiB of locked memory for each processor, the limit is " +
                  std::to_string(share / kKiB) +
                  " KiB; as root: sysctl kernel.perf_event_mlock_kb=" +
                  std::to_string((needed + kKiB - 1) / kKiB));
}

}  // namespace hodo::capture
