#include "exec.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "channel.h"
#include "clock.h"
#include "glue.h"
#include "leave.h"
#include "program_memory.h"
#include "recording.h"
#include "sys.h"

namespace hodo::engine {
namespace {

// Rights that the kernel does not give to a program that is traced, as far as that can be told
// beforehand; null: none. The file's own, of which a script has none.
const char* other_rights(const Registers& r, const struct stat& st) {
  constexpr unsigned kNoSetId = 2;  // ST_NOSUID
  const bool by_path = r.rax == SYS_execve || static_cast<int>(r.rdi) == AT_FDCWD;
  const auto path = static_cast<long>(r.rax == SYS_execveat ? r.rsi : r.rdi);
  struct statfs fs{};
  if (by_path && !failed(raw_syscall(SYS_statfs, path, reinterpret_cast<long>(&fs))) &&
      (fs.f_flags & kNoSetId) != 0) {
    return nullptr;
  }
  if (raw_syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS) == 1) return nullptr;
  if ((st.st_mode & S_ISUID) != 0 &&
      st.st_uid != static_cast<std::uint32_t>(raw_syscall(SYS_geteuid))) {
    return "it is set-user-ID; remedy: run hodo as its owner";
  }
  if ((st.st_mode & S_ISGID) != 0 &&
      st.st_gid != static_cast<std::uint32_t>(raw_syscall(SYS_getegid))) {
    return "it is set-group-ID; remedy: run hodo with its group";
  }
  const long caps =
      by_path ? raw_syscall(SYS_getxattr, path, reinterpret_cast<long>("security.capability"), 0, 0)
              : 0;
  if (caps > 0 && raw_syscall(SYS_geteuid) != 0) {
    return "its file has capabilities; remedy: run hodo as root";
  }
  return nullptr;
}

// False: the kernel will find nothing there.
bool look_at_file(const Registers& r, const char*& obstacle) {
  struct stat st{};
  const bool at = r.rax == SYS_execveat;
  const long got = raw_syscall(SYS_newfstatat, at ? static_cast<long>(r.rdi) : AT_FDCWD,
                               static_cast<long>(at ? r.rsi : r.rdi), reinterpret_cast<long>(&st),
                               at ? static_cast<long>(r.r8 & AT_EMPTY_PATH) : 0);
  if (got == -ENOENT || got == -ENOTDIR) return false;
  if (!failed(got)) obstacle = other_rights(r, st);
  return true;
}

// The program's name, as it was given.
std::string_view path_of(const Registers& r, char (&text)[800]) {
  const std::uint64_t path = r.rax == SYS_execveat ? r.rsi : r.rdi;
  std::size_t at = 0;
  while (at < sizeof(text) && read_program(&text[at], path + at, 1) && text[at] != 0) ++at;
  return {text, at};
}

// The recorder's answer: kTakesOver, or why not.
using Answer = std::array<char, 1 + relay::kLongestReason>;

// The recorder holds this thread from here on; negative: it does not, for what `why` says; null:
// for what nobody need be told.
long ask_for_takeover(ThreadArea& area, Answer& answer, std::string_view& why) {
  const long connection = connect_recorder();
  if (connection < 0) {
    why = why_unreachable(connection);
    return connection;
  }
  raw_syscall(SYS_prctl, PR_SET_PTRACER, area.output.channel->settings().recorder_pid);
  relay::Hello hello;
  hello.pid = area.pid;
  hello.tid = area.tid;
  hello.start = relay::Start::executes;
  hello.time = now();
  long got = raw_syscall(SYS_sendto, connection, reinterpret_cast<long>(&hello), sizeof(hello),
                         MSG_NOSIGNAL);
  if (got == sizeof(hello)) {
    do {
      got = raw_syscall(SYS_read, connection, reinterpret_cast<long>(answer.data()),
                        static_cast<long>(answer.size()));
    } while (got == -EINTR);
  }
  if (got == 1 && answer[0] == relay::kTakesOver) return connection;
  raw_syscall(SYS_close, connection);
  if (got >= 1 && answer[0] == relay::kLeavesAlone) {
    why = {answer.data() + 1, static_cast<std::size_t>(got - 1)};
  } else {
    why = why_unreachable(-ECONNREFUSED);
  }
  return -EPERM;
}

}  // namespace

long exec_call(ThreadArea& area) {
  if (!is_recorded(area)) {
    drain_output(area.output, area.unit.written());
    return glue_syscall(&area);
  }
  if (is_leaving() || area.output.channel->settings().follow_exec == 0) return glue_syscall(&area);
  char path[800];
  long connection = -EPERM;
  const char* obstacle = nullptr;
  if (!look_at_file(area.registers, obstacle)) return glue_syscall(&area);
  Answer answer{};
  std::string_view why;
  if (obstacle != nullptr) {
    why = obstacle;
  } else {
    connection = ask_for_takeover(area, answer, why);
  }
  if (!why.empty()) send_native(area, path_of(area.registers, path), why);
  if (area.output.tracer) area.output.tracer->publish();
  area.output.channel->leave(true);
  const long result = glue_syscall(&area);
  area.output.channel->leave(false);
  if (connection >= 0) raw_syscall(SYS_close, connection);
  return result;
}

}  // namespace hodo::engine
