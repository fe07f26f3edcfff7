#include "exec.h"

#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "channel.h"
#include "clock.h"
#include "glue.h"
#include "held_faults.h"
#include "leave.h"
#include "line.h"
#include "memory_limits.h"
#include "program_memory.h"
#include "program_rights.h"
#include "recording.h"
#include "sys.h"
#include "threads.h"

namespace hodo::engine {
namespace {

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
  const long connection = connect_recorder(&area.exec_connection);
  area.exec_connection = connection;
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
  hello.line = line();
  long got = raw_syscall(SYS_sendto, connection, reinterpret_cast<long>(&hello), sizeof(hello),
                         MSG_NOSIGNAL);
  if (got == sizeof(hello)) {
    do {
      got = raw_syscall(SYS_read, connection, reinterpret_cast<long>(answer.data()),
                        static_cast<long>(answer.size()));
    } while (got == -EINTR);
  }
  if (got == 1 && answer[0] == relay::kTakesOver) return connection;
  close_connection(connection);
  if (got >= 1 && answer[0] == relay::kLeavesAlone) {
    why = {answer.data() + 1, static_cast<std::size_t>(got - 1)};
  } else {
    why = why_unreachable(-ECONNREFUSED);
  }
  return -EPERM;
}

}  // namespace

static long execute(ThreadArea& area) {
  const HandedOn faults(area);
  area.executes = true;
  const long result = glue_syscall(&area);
  area.executes = false;
  return result;
}

// The program is not to run on the engine.
static long exec_alone(ThreadArea& area) {
  give_back_memory_limits();
  const long result = execute(area);
  raise_memory_limits();
  return result;
}

long exec_call(ThreadArea& area) {
  if (!is_recorded(area)) {
    drain_output(area.output, area.unit.written());
    return exec_alone(area);
  }
  if (is_leaving() || area.output.channel->settings().follow_exec == 0) return exec_alone(area);
  char path[800];
  long connection = -EPERM;
  const char* obstacle = nullptr;
  if (!look_at_program(area.registers, obstacle)) return glue_syscall(&area);
  Answer answer{};
  std::string_view why;
  if (obstacle != nullptr) {
    why = obstacle;
  } else {
    // As execve would do it: who shares them would keep the connection.
    if (may_share_files() && is_last_thread(area)) raw_syscall(SYS_unshare, CLONE_FILES);
    connection = ask_for_takeover(area, answer, why);
  }
  if (!why.empty()) send_native(area, path_of(area.registers, path), why);
  if (area.output.tracer) area.output.tracer->publish();
  area.output.channel->leave(true);
  const long result = connection >= 0 ? execute(area) : exec_alone(area);
  area.output.channel->leave(false);
  if (connection >= 0) close_connection(connection);
  return result;
}

}  // namespace hodo::engine
