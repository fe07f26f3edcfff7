#include "program_rights.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "decimal.h"
#include "hodo/relay/script_line.h"
#include "program_memory.h"
#include "sys.h"

namespace hodo::engine {
namespace {

struct File {
  long folder = AT_FDCWD;  // that `path` begins in; with AT_EMPTY_PATH the file itself
  long path = 0;           // the address of its text
  long flags = 0;
  bool by_path = true;  // `path` alone names it
};

using Head = std::array<char, relay::kProgramHead + 1>;

File file_of(const Registers& r) {
  if (r.rax != SYS_execveat) return {.path = static_cast<long>(r.rdi)};
  return {.folder = static_cast<long>(r.rdi),
          .path = static_cast<long>(r.rsi),
          .flags = static_cast<long>(r.r8 & AT_EMPTY_PATH),
          .by_path = static_cast<int>(r.rdi) == AT_FDCWD};
}

// A path to the file as it is, for calls that take nothing else.
class Link {
 public:
  explicit Link(const File& file) {
    if (file.by_path) {
      path_ = file.path;
      return;
    }
    char first = 0;
    const bool itself =
        (file.flags & AT_EMPTY_PATH) != 0 &&
        (!read_program(&first, static_cast<std::uint64_t>(file.path), 1) || first == 0);
    if (!itself) opened_ = raw_syscall(SYS_openat, file.folder, file.path, O_PATH | O_CLOEXEC);
    const long descriptor = itself ? file.folder : opened_;
    if (failed(descriptor)) return;
    put_decimal(link_ + std::strlen(link_), static_cast<std::uint32_t>(descriptor));
    path_ = reinterpret_cast<long>(link_);
  }
  ~Link() {
    if (!failed(opened_)) raw_syscall(SYS_close, opened_);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  long path() const { return path_; }

 private:
  long opened_ = -EBADF;
  long path_ = 0;
  char link_[48] = "/proc/thread-self/fd/";
};

const char* other_rights(const File& file, const struct stat& st) {
  constexpr unsigned kNoSetId = 2;  // ST_NOSUID
  const Link link(file);
  struct statfs fs{};
  if (!failed(raw_syscall(SYS_statfs, link.path(), reinterpret_cast<long>(&fs))) &&
      (fs.f_flags & kNoSetId) != 0) {
    return nullptr;
  }
  if (raw_syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS) == 1) return nullptr;
  if ((st.st_mode & S_ISUID) != 0 &&
      st.st_uid != static_cast<std::uint32_t>(raw_syscall(SYS_geteuid))) {
    return "it is set-user-ID; remedy: run hodo and what executes it as its owner";
  }
  if ((st.st_mode & S_ISGID) != 0 &&
      st.st_gid != static_cast<std::uint32_t>(raw_syscall(SYS_getegid))) {
    return "it is set-group-ID; remedy: run hodo and what executes it with its group";
  }
  const long caps =
      raw_syscall(SYS_getxattr, link.path(), reinterpret_cast<long>("security.capability"), 0, 0);
  if (caps > 0 && raw_syscall(SYS_geteuid) != 0) {
    return "its file has capabilities; remedy: run hodo and what executes it as root";
  }
  return nullptr;
}

// Null bytes where it cannot be read.
void read_head(const File& file, Head& head) {
  head = {};
  const long room = relay::kProgramHead;
  const auto bytes = reinterpret_cast<long>(head.data());
  // What is given as a descriptor may have no name any more.
  if ((file.flags & AT_EMPTY_PATH) != 0 &&
      raw_syscall(SYS_pread64, file.folder, bytes, room, 0) > 0) {
    return;
  }
  const long opened =
      raw_syscall(SYS_openat, file.folder, file.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (failed(opened)) return;
  raw_syscall(SYS_read, opened, bytes, room);
  raw_syscall(SYS_close, opened);
}

}  // namespace

bool look_at_program(const Registers& r, const char*& obstacle) {
  File file = file_of(r);
  std::array<Head, 2> heads;  // `file.path` may lie in the other one
  for (int depth = 0; depth <= relay::kMaxInterpreters; ++depth) {
    struct stat st{};
    const long got = raw_syscall(SYS_newfstatat, file.folder, file.path,
                                 reinterpret_cast<long>(&st), file.flags);
    if (got == -ENOENT || got == -ENOTDIR) return depth != 0;
    if (failed(got) || !S_ISREG(st.st_mode)) return true;
    Head& head = heads[static_cast<std::size_t>(depth % 2)];
    read_head(file, head);
    const auto line = relay::script_line({head.data(), relay::kProgramHead});
    if (line.interpreter.empty()) {
      // Rights are those of the file that the kernel loads; scripts have none.
      obstacle = other_rights(file, st);
      return true;
    }
    char* const path = head.data() + (line.interpreter.data() - head.data());
    path[line.interpreter.size()] = 0;
    file = {.path = reinterpret_cast<long>(path)};
  }
  return true;
}

}  // namespace hodo::engine
