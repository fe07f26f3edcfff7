#include "exec.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

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

// What the kernel will find there, as far as that can be told beforehand.
enum class Found { nothing, program, other_rights };

Found look_at_file(const Registers& r) {
  struct stat st{};
  const bool at = r.rax == SYS_execveat;
  const long got = raw_syscall(SYS_newfstatat, at ? static_cast<long>(r.rdi) : AT_FDCWD,
                               static_cast<long>(at ? r.rsi : r.rdi), reinterpret_cast<long>(&st),
                               at ? static_cast<long>(r.r8 & AT_EMPTY_PATH) : 0);
  if (got == -ENOENT || got == -ENOTDIR) return Found::nothing;
  if (failed(got)) return Found::program;
  const auto user = static_cast<std::uint32_t>(raw_syscall(SYS_geteuid));
  const auto group = static_cast<std::uint32_t>(raw_syscall(SYS_getegid));
  const bool changes = ((st.st_mode & S_ISUID) != 0 && st.st_uid != user) ||
                       ((st.st_mode & S_ISGID) != 0 && st.st_gid != group);
  return changes ? Found::other_rights : Found::program;
}

// The program's name, as it was given.
std::string_view path_of(const Registers& r, char (&text)[800]) {
  const std::uint64_t path = r.rax == SYS_execveat ? r.rsi : r.rdi;
  std::size_t at = 0;
  while (at < sizeof(text) && read_program(&text[at], path + at, 1) && text[at] != 0) ++at;
  return {text, at};
}

constexpr long kRefused = -EBUSY;

// The recorder holds this thread from here on; negative: it does not, or cannot be reached.
long ask_for_takeover(ThreadArea& area) {
  const long connection = connect_recorder();
  if (connection < 0) return connection;
  raw_syscall(SYS_prctl, PR_SET_PTRACER, area.output.channel->settings().recorder_pid);
  relay::Hello hello;
  hello.pid = area.pid;
  hello.tid = area.tid;
  hello.start = relay::Start::executes;
  hello.time = now();
  char answer = 0;
  long got = raw_syscall(SYS_sendto, connection, reinterpret_cast<long>(&hello), sizeof(hello),
                         MSG_NOSIGNAL);
  if (got == sizeof(hello)) {
    do {
      got = raw_syscall(SYS_read, connection, reinterpret_cast<long>(&answer), 1);
    } while (got == -EINTR);
  }
  if (got == 1 && answer == relay::kTakesOver) return connection;
  raw_syscall(SYS_close, connection);
  return kRefused;
}

}  // namespace

long exec_call(ThreadArea& area) {
  if (!is_recorded(area)) {
    drain_output(area.output, area.unit.written());
    return glue_syscall(&area);
  }
  if (is_leaving() || area.output.channel->settings().follow_exec == 0) return glue_syscall(&area);
  char path[800];
  long connection = kRefused;
  const Found found = look_at_file(area.registers);
  if (found == Found::nothing) return glue_syscall(&area);
  if (found == Found::other_rights) {  // with ptrace it would run without them
    send_native(area, path_of(area.registers, path), "it is set-user-ID");
  } else {
    connection = ask_for_takeover(area);
    if (connection < 0) {
      send_native(
          area, path_of(area.registers, path),
          connection == kRefused ? "another process traces it" : why_unreachable(connection));
    }
  }
  if (area.output.tracer) area.output.tracer->publish();
  area.output.channel->leave(true);
  const long result = glue_syscall(&area);
  area.output.channel->leave(false);
  if (connection >= 0) raw_syscall(SYS_close, connection);
  return result;
}

}  // namespace hodo::engine
