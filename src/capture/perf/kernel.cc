#include "hodo/capture/kernel.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>

namespace hodo::capture {
namespace {

class SystemKernel final : public Kernel {
 public:
  KernelResult<Fd> open_event(const perf_event_attr& attr, pid_t pid, int cpu) override {
    const long fd = ::syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) return std::unexpected(errno);
    return Fd(static_cast<int>(fd));
  }

  KernelResult<std::span<std::uint8_t>> map(int fd, std::size_t size, std::uint64_t offset,
                                            bool writable) override {
    const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
    void* at = ::mmap(nullptr, size, protection, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (at == MAP_FAILED) return std::unexpected(errno);
    return std::span(static_cast<std::uint8_t*>(at), size);
  }

  void unmap(std::span<std::uint8_t> memory) override { ::munmap(memory.data(), memory.size()); }

  KernelResult<std::uint64_t> event_id(int fd) override {
    std::uint64_t id = 0;
    if (::ioctl(fd, PERF_EVENT_IOC_ID, &id) != 0) return std::unexpected(errno);
    return id;
  }

  KernelResult<void> enable(int fd) override { return control(fd, PERF_EVENT_IOC_ENABLE, 0); }
  KernelResult<void> disable(int fd) override { return control(fd, PERF_EVENT_IOC_DISABLE, 0); }
  KernelResult<void> set_output(int fd, int ring_fd) override {
    return control(fd, PERF_EVENT_IOC_SET_OUTPUT, ring_fd);
  }
  KernelResult<void> set_filter(int fd, const char* text) override {
    return control(fd, PERF_EVENT_IOC_SET_FILTER, text);
  }

 private:
  template <class Argument>
  static KernelResult<void> control(int fd, unsigned long request, Argument argument) {
    if (::ioctl(fd, request, argument) != 0) return std::unexpected(errno);
    return {};
  }
};

}  // namespace

Kernel& system_kernel() {
  static SystemKernel kernel;
  return kernel;
}

}  // namespace hodo::capture
