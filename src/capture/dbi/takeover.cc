#include "takeover.h"

#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "attachment.h"
#include "tracee.h"

namespace hodo::capture {
namespace {

std::string program_of(pid_t pid) {
  std::array<char, PATH_MAX> path{};
  const ssize_t n =
      readlink(fmt::format("/proc/{}/exe", pid).c_str(), path.data(), path.size() - 1);
  return n > 0 ? std::string(path.data(), static_cast<std::size_t>(n))
               : fmt::format("process {} ({})", pid, status_line(pid, "Name"));
}

bool is_stop_signal(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

// Lets it go on with this signal. False: it was killed where it stood; its end comes yet, and is
// kept from its parent until it is taken here.
bool detach(pid_t tid, int signal) {
  return ptrace(PTRACE_DETACH, tid, nullptr, signal) == 0 || errno != ESRCH;
}

// After ptrace has refused. Empty: it is being let go (Releasing), and need not be recorded.
std::string why_not_held(pid_t tid, int error) {
  if (const pid_t tracer = tracer_of(tid); tracer != 0) {
    if (tracer == getpid()) return {};
    return fmt::format("another process traces it (process {})", tracer);
  }
  if (is_not_dumpable(tid)) {
    return "only root may trace what has forbidden that (PR_SET_DUMPABLE); remedy: run hodo as "
           "root";
  }
  return fmt::format("ptrace is refused: {}", std::strerror(error));
}

}  // namespace

Status check_holding() {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    return fail(ErrorCode::unsupported, fmt::format("fork: {}", std::strerror(errno)));
  }
  if (child == 0) {
    // Nobody would end it if the parent were killed now.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent) pause();
    _exit(0);
  }
  const bool held = ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0;
  const pid_t tracer = held ? 0 : tracer_of(child);
  ::kill(child, SIGKILL);
  while (waitpid(child, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  if (held) return {};
  if (tracer != 0) {
    return fail(
        ErrorCode::unsupported,
        fmt::format("process {} ({}) traces what hodo starts, and only one can; remedy: let "
                    "it trace hodo alone (strace without -f), or not at all",
                    tracer, status_line(tracer, "Name")));
  }
  return fail(ErrorCode::unsupported,
              "ptrace is not permitted here, which puts the engine into programs; remedy: as root "
              "sysctl kernel.yama.ptrace_scope=1; in a container, allow ptrace (docker run "
              "--cap-add SYS_PTRACE)");
}

Status Takeovers::hold(pid_t pid, pid_t tid, Fd& connection, const relay::Line& line) {
  const auto known = std::ranges::find(held_, tid, &Held::tid);
  if (known != held_.end()) {  // it has failed to execute one program, and tries the next
    known->connection = std::move(connection);
    known->line = line;
    known->over = false;
    return {};
  }
  if (ptrace(PTRACE_SEIZE, tid, nullptr, PTRACE_O_TRACEEXEC) != 0) {
    return fail(ErrorCode::not_permitted, why_not_held(tid, errno));
  }
  held_.push_back({pid, tid, std::move(connection), line});
  return {};
}

Status Takeovers::let_go(pid_t pid, const Meanwhile& meanwhile) {
  return release(engine_, info_.key, pid, meanwhile);
}

bool Takeovers::is_traced(pid_t pid) {
  return std::ranges::any_of(threads_of(pid), [](pid_t tid) { return tracer_of(tid) != 0; });
}

Status Takeovers::take_back(pid_t pid, const relay::Settings& settings,
                            const Meanwhile& meanwhile) {
  if (const Status can = check_attachable(pid); !can) return can;
  const Urgent urgent;
  const auto attached = attach(engine_, info_, settings, pid, threads_, meanwhile);
  return attached ? Status() : std::unexpected(attached.error());
}

std::vector<int> Takeovers::wake_fds() const {
  std::vector<int> fds;
  for (const Held& held : held_) {
    if (held.connection && !held.over) fds.push_back(held.connection.get());
  }
  return fds;
}

void Takeovers::look(std::vector<std::string>& failures) {
  std::erase_if(held_, [&](Held& held) { return look_at(held, failures); });
  dying_.look(child_);
}

bool Takeovers::look_at(Held& held, std::vector<std::string>& failures) {
  if (held.connection && !held.over) {
    pollfd p{.fd = held.connection.get(), .events = POLLIN, .revents = 0};
    if (poll(&p, 1, 0) > 0) {
      held.over = true;
      // It stops now in either case: behind its exec, or where it goes on without one.
      ptrace(PTRACE_INTERRUPT, held.tid, nullptr, nullptr);
    }
  }
  Peeked found = peek(held.tid);
  // A thread that executes a program becomes the process's first, some time before it stops there.
  if (held.tid != held.pid && found == Peeked::gone) {
    held.tid = held.pid;
    found = peek(held.pid);
  }
  if (found == Peeked::nothing) return false;
  if (found == Peeked::gone) return true;
  if (found == Peeked::ended) {
    if (held.tid != child_) waitpid(held.tid, nullptr, __WALL | WNOHANG);
    return true;
  }
  int status = 0;
  if (waitpid(held.tid, &status, __WALL | WNOHANG) != held.tid) return false;
  return handle_stop(held, status, failures);
}

bool Takeovers::handle_stop(const Held& held, int status, std::vector<std::string>& failures) {
  const int signal = WSTOPSIG(status);
  const int event = status >> 16;
  if (event == PTRACE_EVENT_EXEC) {
    const std::string failure = take_over(held);
    const bool gone_on = detach(held.tid, 0);
    if (gone_on && !failure.empty()) failures.push_back(failure);
    return gone_on;
  }
  const bool delivers = event == 0;
  if (held.over) return detach(held.tid, delivers ? signal : 0);
  if (!delivers && is_stop_signal(signal)) {
    ptrace(PTRACE_LISTEN, held.tid, nullptr, nullptr);
  } else {
    ptrace(PTRACE_CONT, held.tid, nullptr, delivers ? signal : 0);
  }
  return false;
}

std::string Takeovers::take_over(const Held& held) const {
  relay::StartInfo info = info_;
  info.line = held.line;
  const Status started = engine_.start_in(held.tid, info);
  if (started) return {};
  return fmt::format("{} ran without being recorded: {}", program_of(held.tid),
                     started.error().message);
}

}  // namespace hodo::capture
