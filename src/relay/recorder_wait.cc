#include "hodo/relay/recorder_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <string>

namespace hodo::relay {

void wait_on(std::atomic<std::uint32_t>& word, std::uint32_t value, unsigned ms) {
  const timespec timeout{.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1'000'000L};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &timeout, nullptr, 0);
}

std::optional<std::string_view> stat_of(std::int32_t pid, std::span<char> text) {
  if (::kill(pid, 0) != 0 && errno != EPERM) return std::nullopt;
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::string_view();
  const ssize_t got = ::read(fd, text.data(), text.size());
  ::close(fd);
  return std::string_view(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
}

}  // namespace hodo::relay
