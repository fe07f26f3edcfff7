#include "exit_code.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace hodo::capture {
namespace {

// struct pidfd_info and PIDFD_GET_INFO of linux/pidfd.h, which Debian's headers do not have yet.
struct PidfdInfo {
  std::uint64_t mask = 0;
  std::uint64_t cgroup = 0;
  std::uint32_t pid = 0, tgid = 0, ppid = 0;
  std::uint32_t users[8] = {};
  std::int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t kInfoExit = 1 << 3;

// Once its parent has waited for it.
std::optional<int> by_pidfd(int pidfd) {
  PidfdInfo info{.mask = kInfoExit};
  if (ioctl(pidfd, _IOWR(0xff, 11, PidfdInfo), &info) != 0) return std::nullopt;
  return (info.mask & kInfoExit) != 0 ? std::optional(info.exit_code) : std::nullopt;
}

// Until then: proc_pid_stat(5), the state and the last field, of Linux 3.5 and later the 52nd.
std::optional<int> by_proc(int pidfd, std::int32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');
  if (name_end == line.npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= 52; ++number) {
    if (!(fields >> field) || (number == 3 && field != "Z")) return std::nullopt;
  }
  // The number may be another's by now.
  if (syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0) != 0) return std::nullopt;
  return std::atoi(field.c_str());
}

}  // namespace

std::optional<int> wait_status(int pidfd, std::int32_t pid) {
  if (const auto before = by_proc(pidfd, pid)) return before;
  return by_pidfd(pidfd);
}

}  // namespace hodo::capture
