#include "process_root.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <utility>

namespace hodo::capture {
namespace {

bool are_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat a{}, b{};
  return stat(one.c_str(), &a) == 0 && stat(other.c_str(), &b) == 0 && are_same(a, b);
}

}  // namespace

void ProcessRoot::look(pid_t pid) {
  const std::string process = fmt::format("/proc/{}", pid);
  std::array<char, PATH_MAX> path{};
  const ssize_t size = readlink((process + "/root").c_str(), path.data(), path.size() - 1);
  Fd place(open((process + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (size <= 0 || !place) return;
  path_ = size == 1 ? "" : std::string(path.data(), static_cast<std::size_t>(size));
  const bool shared = is_same_file(process + "/root", "/") &&
                      is_same_file(process + "/ns/mnt", "/proc/self/ns/mnt");
  place_ = shared ? Fd() : std::move(place);
}

// Links lead to where they lead the process.
Fd ProcessRoot::find(const std::string& path) const {
  if (!place_) return {};
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  return Fd(static_cast<int>(syscall(SYS_openat2, place_.get(), path.c_str(), &how, sizeof(how))));
}

void ProcessRoot::let_go(dev_t device) {
  struct stat st{};
  if (place_ && fstat(place_.get(), &st) == 0 && st.st_dev == device) place_ = {};
}

}  // namespace hodo::capture
