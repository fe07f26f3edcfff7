// How much ring memory the kernel will give (kernel/events/core.c, perf_mmap), and how to spend it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hodo/base/result.h"
#include "hodo/capture/pmu.h"

namespace hodo::capture {

// An unprivileged user gets perf_event_mlock_kb for each processor, and beyond that what
// RLIMIT_MEMLOCK allows altogether.
struct MemoryLimits {
  bool unlimited = false;              // CAP_IPC_LOCK, or perf_event_paranoid is -1
  std::uint64_t per_cpu = 516 * 1024;  // bytes
  std::uint64_t shared = 0;            // bytes; ~0: unlimited
};
MemoryLimits read_memory_limits(const SystemPaths& paths);

// Sizes of one processor's buffers, in bytes; powers of two.
struct BufferPlan {
  std::size_t data = 0;  // without the control page
  std::size_t aux = 0;
};

inline constexpr std::size_t kMinAux = 8 * 1024;  // two pages: the driver needs one to stop in

// `requested_aux` 0: 4 MiB, or as much as the limits allow; otherwise it is rounded up to a power
// of two. Errors: usage (too large for any machine), not_permitted (over the limits; with the
// remedy).
Result<BufferPlan> plan_buffers(std::uint64_t requested_aux, const MemoryLimits& limits,
                                std::size_t cpus, std::size_t page_size);

}  // namespace hodo::capture
