// The system calls that a perf_event recording makes, behind an interface so that tests can play a
// kernel with trace hardware on a machine that has none.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <span>

#include "hodo/capture/fd.h"

namespace hodo::capture {

// Failures are errno values.
template <class T>
using KernelResult = std::expected<T, int>;

class Kernel {
 public:
  virtual ~Kernel() = default;
  // perf_event_open(2), close-on-exec, in no group. `pid` 0: the caller; `cpu` -1: any.
  // The descriptor can be polled: readable when the rings have data.
  virtual KernelResult<Fd> open_event(const perf_event_attr& attr, pid_t pid, int cpu) = 0;
  // mmap(2), shared and readable.
  virtual KernelResult<std::span<std::uint8_t>> map(int fd, std::size_t size, std::uint64_t offset,
                                                    bool writable) = 0;
  virtual void unmap(std::span<std::uint8_t> memory) = 0;
  // PERF_EVENT_IOC_ID, _ENABLE, _DISABLE, _SET_OUTPUT, _SET_FILTER. Enabling and disabling apply to
  // the events that children have inherited, too.
  virtual KernelResult<std::uint64_t> event_id(int fd) = 0;
  virtual KernelResult<void> enable(int fd) = 0;
  virtual KernelResult<void> disable(int fd) = 0;
  virtual KernelResult<void> set_output(int fd, int ring_fd) = 0;
  virtual KernelResult<void> set_filter(int fd, const char* text) = 0;
};

// The real one.
Kernel& system_kernel();

}  // namespace hodo::capture
