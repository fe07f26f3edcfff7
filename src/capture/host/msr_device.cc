#include "hodo/capture/msr_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hodo::capture {
namespace {

std::unexpected<Error> refused(const char* verb, std::uint32_t number, int reason) {
  if (reason == EIO) {
    return fail(ErrorCode::unsupported,
                fmt::format("cannot {} register {:#x}: this processor does not have it, or a "
                            "hypervisor keeps it",
                            verb, number));
  }
  if (reason == EPERM) {
    return fail(ErrorCode::not_permitted,
                fmt::format("cannot {} register {:#x}: the kernel forbids it (lockdown, or the msr "
                            "module's allow_writes=off)",
                            verb, number));
  }
  return fail(ErrorCode::io,
              fmt::format("cannot {} register {:#x}: {}", verb, number, std::strerror(reason)));
}

}  // namespace

Result<MsrDevice> MsrDevice::open(int cpu, Access access, const std::string& root) {
  const std::string path = fmt::format("{}/dev/cpu/{}/msr", root, cpu);
  const int mode = access == Access::write ? O_RDWR : O_RDONLY;
  Fd fd(::open(path.c_str(), mode | O_CLOEXEC));
  if (fd.get() >= 0) return MsrDevice(std::move(fd));
  switch (errno) {
    case ENOENT:
    case ENXIO:
    case ENODEV:
      return fail(ErrorCode::not_found, path + " is not there; as root: modprobe msr");
    case EACCES:
    case EPERM:
      return fail(ErrorCode::not_permitted,
                  path + " is for root only (CAP_SYS_RAWIO); run as root");
    default:
      return fail(ErrorCode::io, path + ": " + std::strerror(errno));
  }
}

Result<std::uint64_t> MsrDevice::read_msr(std::uint32_t number) {
  std::uint64_t value = 0;
  const ssize_t got = ::pread(fd_.get(), &value, sizeof(value), number);
  if (got != sizeof(value)) return refused("read", number, got < 0 ? errno : EIO);
  return value;
}

Status MsrDevice::write_msr(std::uint32_t number, std::uint64_t value) {
  const ssize_t put = ::pwrite(fd_.get(), &value, sizeof(value), number);
  if (put != sizeof(value)) return refused("write", number, put < 0 ? errno : EIO);
  return {};
}

}  // namespace hodo::capture
